"""Stories as functions: `@story`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from pathlib import Path
from typing import Any, Unpack, overload

from labkit.core.errors import ArgumentError, LabError, unknown
from labkit.core.handle import short_trace
from labkit.hunt.draw import Draw
from labkit.hunt.fault_choice import FaultChoice
from labkit.hunt.kinds import KINDS
from labkit.hunt.promises.promise import Promise
from labkit.lab.lab import Lab
from labkit.settings import LabKeywords, LabSettings

OF_LAB = ("config", "speed", "start")  # arguments of a lab that are no settings
Act = Callable[..., object]  # of a lab, a draw, and the parameters by name


class Story:
    """A story: a function of a lab and a `Draw`, its promises, and the settings of its lab. Made by `@story`.

    past: file of a snapshot that its lab continues, None for a new lab; parameters: the function's arguments that are
    given by name alone, with their defaults; without: kinds of faults that are never drawn for it.
    """

    def __init__(
        self,
        function: Act,
        settings: LabKeywords,
        promises: Iterable[Promise] = (),
        past: str | Path | None = None,
        without: Iterable[str] = (),
    ) -> None:
        _expect_plain(function)
        _expect_settings(settings)
        self.function = function
        self.settings = settings
        self.past = None if past is None else _beside(function, past)
        self.promises = _promises(promises)
        self.without = (without,) if isinstance(without, str) else tuple(without)
        FaultChoice.of(KINDS, self.without)
        names = [each.name for each in self.promises]
        if doubled := [each for each in names if names.count(each) > 1]:
            raise LabError(f"story: promises: two have the name {doubled[0]!r}; give one another by name=")
        self.name: str = getattr(function, "__name__", "story")
        self.parameters = _parameters(function, self.name)
        update_wrapper(self, function)

    def __call__(self, lab: Lab, draw: Draw, **parameters: object) -> object:
        """Tell the story in a lab.

        lab: in a story (`with lab.story()`); draw: of its values; parameters: of the function, by name.
        """
        return self.function(lab, draw, **parameters)

    def with_defaults(self, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return the values of all parameters. parameters: those that differ from their defaults.

        Raises LabError, listing the known names, for a parameter that the function does not have, and for a text where
        the default is a number.
        """
        for name, value in parameters.items():
            if name not in self.parameters:
                raise LabError(f"{self.name}: {unknown('parameter', name, self.parameters)}")
            default = self.parameters[name]
            if isinstance(value, str) and isinstance(default, int | float) and not isinstance(default, bool):
                raise LabError(
                    f"{self.name}: {name}: expected a number, as its default {default!r} is, not {value!r:.100}"
                )
        return {**self.parameters, **parameters}

    def lab_settings(self, parameters: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments of a play's lab. parameters: of the story, by name."""
        return {**self.settings}

    def __repr__(self) -> str:
        return f"<story {self.name}>"


@overload
def story(function: Act, /) -> Story: ...
@overload
def story(
    *,
    promises: Iterable[Promise] = (),
    past: str | Path | None = None,
    without: Iterable[str] = (),
    **settings: Unpack[LabKeywords],
) -> Callable[[Act], Story]: ...
@short_trace
def story(
    function: Any = None,
    /,
    *,
    promises: Iterable[Promise] = (),
    past: str | Path | None = None,
    without: Iterable[str] = (),
    **settings: Any,
) -> Any:
    """Make a story of a function: `@story` above `def outage(lab, draw): …`, or `@story(profile="field")`.

    The function sets up the lab, starts fleets, and acts as people and solutions do. Its calls let lab time pass while
    they wait, as in `with lab.story()`. function: gets a `Lab`, a `Draw`, and by name its parameters, as `retries` in
    `def outage(lab, draw, *, retries=3)`; promises: what must hold in every future; past: file of a snapshot,
    relative to the function's file, from which each play continues: `lab.save(path, journal=False)` has written it, and
    its seed is that of the lab, so that a play's seed decides only what is drawn. A fleet with `keep=True` continues
    the past's devices with their credentials, but their behaviours begin anew: they remember nothing, and local
    variables are as at their start. without: names of faults that are never drawn for it, as of `Menu`. settings: of
    the lab. Raises LabError for a parameter without a default, and for a function that is async or a generator.
    """
    if function is not None:
        return Story(function, settings)  # type: ignore[arg-type]
    return lambda given: Story(given, settings, promises, past, without)  # type: ignore[arg-type]


def _expect_plain(function: object) -> None:
    """Raise LabError for what is no function, and for one that is async or a generator."""
    if not callable(function):
        raise LabError(f"story: expected a function of a lab and a draw, not {function!r}")
    name = getattr(function, "__name__", "story")
    for each in (function, getattr(type(function), "__call__", None)):  # noqa: B004  a method of the class
        if inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each):
            raise LabError(
                f"story: {name} is async: expected `def {name}(lab, draw)`, whose calls of the lab wait"
            )
        if inspect.isgeneratorfunction(each):
            raise LabError(
                f"story: {name} is a generator: expected a function without yield, which returns a result"
            )


def _expect_settings(settings: Mapping[str, object]) -> None:
    """Raise LabError for a setting that no lab has."""
    known = ("promises", "past", "without", *OF_LAB, *LabSettings.model_fields)
    for name in settings:
        if name == "seed":
            raise LabError(
                "story: seed: each play has a seed of its own: play(story, seed=7), hunt(…, first_seed=7)"
            )
        if name not in known:
            raise ArgumentError(f"story: {unknown('argument', name, known)}")


def _promises(given: object) -> tuple[Promise, ...]:
    """Return promises as a tuple. Raises LabError for other objects."""
    several = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for each in several:
        if not isinstance(each, Promise):
            raise LabError(f"story: promises: expected promises such as always(check), not {_shown(each)}")
    return several


def _shown(given: object) -> str:
    """Return an object that is no promise as text, with what to write instead of a function."""
    if not inspect.isfunction(given):
        return f"{given!r:.100}"
    name = given.__name__
    if not given.__module__.startswith(Promise.__module__.rpartition(".")[0]):
        return f"the function {name}; did you mean always({name})?"
    arguments = inspect.signature(given).parameters.values()
    needed = ", ".join(each.name for each in arguments if each.default is each.empty)
    return f"the function {name}: call it, {name}({needed})"


def _beside(function: Act, past: str | Path) -> Path:
    """Return the path of a file that is relative to a function's file; of a cell's function, to the current folder."""
    file = Path(getattr(getattr(function, "__code__", None), "co_filename", ""))
    return (file.parent if file.is_file() else Path.cwd()) / past


def _parameters(function: Act, name: str) -> dict[str, object]:
    """Return the names and defaults of a function's keyword-only arguments. Raises LabError if one has no default."""
    try:
        shown = inspect.signature(function)
    except (TypeError, ValueError):  # some callables of C have no signature
        return {}
    found = {each.name: each.default for each in shown.parameters.values() if each.kind is each.KEYWORD_ONLY}
    for each, default in found.items():
        if default is inspect.Parameter.empty:
            raise LabError(f"{name}: parameter {each!r} has no default; expected `*, {each}=…`")
    try:
        shown.bind(None, None)
    except TypeError:
        raise LabError(f"{name}: expected `def {name}(lab, draw)`, not `def {name}{shown}`") from None
    return found
