"""Behaviours: a small class whose `run` is the life of one device, as plain sequential code on the lab's clock."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, get_origin, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from labkit.core.chance import Chance, chance, fresh_seed
from labkit.core.errors import LabError

if TYPE_CHECKING:
    from labkit.fleet.fleet_device import FleetDevice

Seconds = Annotated[float, Field(gt=0)]  # of a parameter that has to be above 0
Count = Annotated[int, Field(gt=0)]
Odds = Annotated[float, Field(ge=0, le=1)]
MUTABLE = (list, dict, set, tuple)  # the last may hold such


class Behaviour:
    """What a device of a fleet does. Annotated class attributes are its parameters:

        class Reporter(Behaviour):
            every: float = 300

            async def run(self, device):
                while True:
                    await device.write(temperature=self.random.gauss(21, 1))
                    await device.sleep(self.every)

    `Reporter(every=60)` sets them. Each device has an instance of its own, anew for each of its lives, with lists,
    dicts and sets of its own. Raises LabError for a parameter that there is not, that is missing or of another type.
    """

    def __init__(self, **parameters: Any) -> None:
        declared = type(self).parameters()
        for name, value in parameters.items():
            if name not in declared:
                known = ", ".join(declared) or "none"
                raise LabError(f"{type(self).__name__}: no parameter {name!r}, there are: {known}")
            setattr(self, name, _checked(type(self).__name__, name, declared[name], value))
        if missing := [name for name in declared if not hasattr(self, name)]:
            raise LabError(
                f"{type(self).__name__}: {missing[0]} is missing: {type(self).__name__}({missing[0]}=…)"
            )

    async def run(self, device: FleetDevice) -> None:
        """The life of a device; it ends when this returns."""
        raise NotImplementedError(f"{type(self).__name__} has no `async def run(self, device)`")

    @cached_property
    def random(self) -> Chance:
        """Chance of this device alone, from the fleet's seed and the number of the device."""
        return chance(fresh_seed())  # of an instance that belongs to no device

    @classmethod
    def parameters(cls) -> Mapping[str, Any]:
        """The annotated attributes by name, each with its type."""
        try:
            hints = get_type_hints(cls, include_extras=True)
        except NameError:  # an annotation that names what only a type checker imports
            hints = {name: Any for each in reversed(cls.__mro__) for name in inspect.get_annotations(each)}
        return {
            name: type
            for name, type in hints.items()
            if not name.startswith("_") and type is not ClassVar and get_origin(type) is not ClassVar
        }

    def for_device(self, random: Chance) -> Self:
        """An instance of these parameters for one life of a device, which has this chance."""
        made = copy.copy(self)
        made.__dict__["random"] = random
        for name in self._names:
            value = getattr(self, name, None)
            if isinstance(value, MUTABLE):
                made.__dict__[name] = _own(value)
        return made

    @cached_property
    def _names(self) -> Sequence[str]:
        return tuple(type(self).parameters())

    def __repr__(self) -> str:
        names = [name for name in type(self).parameters() if hasattr(self, name)]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({values})"


def behaviour(given: object) -> Behaviour:
    """A behaviour, of a class or an instance. Raises LabError for anything else, and for one that is not whole."""
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
    except Exception as error:  # of an `__init__` of its own
        raise LabError(
            f"{given.__name__}() fails: {type(error).__name__}: {error}; "
            f"give the fleet an instance of it, or make its parameters annotated class attributes"
        ) from error


def _own(value: Any) -> Any:
    """A copy that shares no list, dict or set with the value; what else it holds is the same."""
    if type(value) is tuple:
        return tuple(map(_own, value))
    made = copy.copy(value) if isinstance(value, MUTABLE) else value
    if isinstance(made, list):
        made[:] = map(_own, made)
    elif isinstance(made, dict):
        made.update((key, _own(each)) for key, each in list(made.items()))
    return made


def _checked(owner: str, name: str, type: Any, value: Any) -> Any:
    try:
        return TypeAdapter(type, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(value)
    except ValidationError as error:
        expected = error.errors(include_url=False)[0]["msg"]
        raise LabError(f"{owner}: {name}: {expected}, not {value!r}") from None
    except Exception:  # noqa: BLE001  an annotation that pydantic knows nothing of checks nothing
        return value
