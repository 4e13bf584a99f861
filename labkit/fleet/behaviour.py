"""Behaviours: classes whose `run` is the sequential program of one device, on the lab's clock."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, get_origin, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from labkit.core.chance import Chance, chance, fresh_seed
from labkit.core.errors import ArgumentError, LabError, unknown
from labkit.core.handle import short_trace
from labkit.settings.validation import expected_value

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice

Seconds = Annotated[float, Field(gt=0)]  # a parameter that has to be above 0
Count = Annotated[int, Field(gt=0)]
Odds = Annotated[float, Field(ge=0, le=1)]
MUTABLE = (list, dict, set, tuple)  # a tuple may contain mutable values


class Behaviour:
    """Program of a fleet's device. Annotated class attributes are its parameters:

        class Reporter(Behaviour):
            every: float = 300

            async def run(self, device):
                while True:
                    await device.write(temperature=self.random.gauss(21, 1))
                    await device.sleep(self.every)

    `Reporter(every=60)` sets parameters. Each device has its own instance in each epoch, with copies of lists, dicts
    and sets. Raises LabError for an unknown or missing parameter, or one of another type.
    """

    @short_trace
    def __init__(self, **parameters: Any) -> None:
        declared = type(self).parameters()
        for name, value in parameters.items():
            if name not in declared:
                text = f"{type(self).__name__}: {unknown('parameter', name, declared)}"
                if name in vars(type(self)):
                    plain = vars(type(self))[name]
                    text += (
                        f"; it has no annotation; did you mean {name}: {type(plain).__name__} = {plain!r}?"
                    )
                raise ArgumentError(text)
            setattr(self, name, _checked(type(self).__name__, name, declared[name], value))
        if missing := [name for name in declared if not hasattr(self, name)]:
            raise LabError(
                f"{type(self).__name__}: {missing[0]} is missing: {type(self).__name__}({missing[0]}=…)"
            )

    async def run(self, device: FleetDevice) -> None:
        """Run the device, which ends when this returns."""
        raise NotImplementedError(f"{type(self).__name__} has no `async def run(self, device)`")

    @cached_property
    def random(self) -> Chance:
        """Random generator of this device, from the fleet's seed and the number of the device."""
        return chance(fresh_seed())  # for an instance without a device

    @classmethod
    def parameters(cls) -> Mapping[str, Any]:
        """Return the types of the annotated attributes by name."""
        try:
            hints = get_type_hints(cls, include_extras=True)
        except NameError:  # an annotation names a type imported only for type checking
            hints = {name: Any for each in reversed(cls.__mro__) for name in inspect.get_annotations(each)}
        return {
            name: type
            for name, type in hints.items()
            if not name.startswith("_") and type is not ClassVar and get_origin(type) is not ClassVar
        }

    def for_device(self, random: Chance) -> Self:
        """Return a copy for one epoch of a device. random: the device's random generator."""
        made = copy.copy(self)
        made.__dict__["random"] = random
        for name in self._names:
            value = getattr(self, name, None)
            if isinstance(value, MUTABLE):
                made.__dict__[name] = _copied(value)
        return made

    @cached_property
    def _names(self) -> Sequence[str]:
        return tuple(type(self).parameters())

    def __repr__(self) -> str:
        names = [name for name in type(self).parameters() if hasattr(self, name)]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"


def behaviour(given: object) -> Behaviour:
    """Return the behaviour of a class or an instance. Raises LabError for anything else, or an incomplete class."""
    if isinstance(given, type) and issubclass(given, Behaviour):
        given = _made(given)
    if not isinstance(given, Behaviour):
        raise LabError(f"expected a class of labkit.Behaviour or an instance of one, not {given!r}")
    if not inspect.iscoroutinefunction(type(given).run):
        raise LabError(f"{type(given).__name__}.run: expected `async def run(self, device)`")
    if type(given).run is Behaviour.run:
        raise LabError(f"{type(given).__name__} has no `async def run(self, device)`")
    return given


def _made(given: type[Behaviour]) -> Behaviour:
    try:
        return given()
    except LabError:
        raise
    except Exception as error:  # a user's `__init__` may raise anything
        raise LabError(
            f"{given.__name__}() fails: {type(error).__name__}: {error}; "
            f"give the fleet an instance of it, or make its parameters annotated class attributes"
        ) from error


def _copied(value: Any) -> Any:
    """Return a copy in which lists, dicts and sets are copied, and all other objects shared."""
    if type(value) is tuple:
        return tuple(map(_copied, value))
    made = copy.copy(value) if isinstance(value, MUTABLE) else value
    if isinstance(made, list):
        made[:] = map(_copied, made)
    elif isinstance(made, dict):
        made.update((key, _copied(each)) for key, each in list(made.items()))
    return made


def _checked(owner: str, name: str, type: Any, value: Any) -> Any:
    try:
        return TypeAdapter(type, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(value)
    except ValidationError as error:
        expected = expected_value(error.errors(include_url=False))
        raise LabError(f"{owner}: {name}: {expected}, not {value!r:.100}") from None
    except Exception:  # noqa: BLE001  an annotation unknown to pydantic is not checked
        return value
