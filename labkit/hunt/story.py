"""Stories as functions, and plays of them: one seed, one future."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, Unpack, overload

from labkit.core.chance import chance
from labkit.core.errors import LabError, unknown
from labkit.core.extras import needs
from labkit.hunt.draw import Draw, DrawFrom, is_end
from labkit.lab.lab import Lab
from labkit.settings import LabKeywords

Act = Callable[..., object]  # of a lab and a draw, and of the story's parameters by name

SUPPLY = 64 * 1024  # bytes from which the values of a play are drawn


class Story:
    """A story: a function of a lab and a `Draw`, and the settings of its lab. Made by `@story`.

    parameters: names and defaults of the function's keyword-only arguments.
    """

    def __init__(self, function: Act, settings: LabKeywords) -> None:
        if not callable(function):
            raise LabError(f"story: expected a function of a lab and a draw, not {function!r}")
        self.function = function
        self.settings = settings
        self.name: str = getattr(function, "__name__", "story")
        self.parameters = _parameters(function, self.name)
        update_wrapper(self, function)

    def __call__(self, lab: Lab, draw: Draw, **parameters: Any) -> object:
        """Tell the story in a lab.

        lab: in a story (`with lab.story()`); draw: of its values; parameters: of the function, instead of its defaults.
        """
        return self.function(lab, draw, **parameters)

    def expect_parameters(self, names: Iterable[object]) -> None:
        """Raise LabError, listing the known names, for a name that is no parameter of the story."""
        for name in names:
            if name not in self.parameters:
                raise LabError(f"{self.name}: {unknown('parameter', name, self.parameters)}")

    def __repr__(self) -> str:
        return f"<story {self.name}>"


@overload
def story(function: Act, /) -> Story: ...
@overload
def story(**settings: Unpack[LabKeywords]) -> Callable[[Act], Story]: ...
def story(function: Any = None, /, **settings: Any) -> Any:
    """Make a story of a function: `@story` above `def outage(lab, draw): …`, or `@story(profile="field")`.

    The function sets up the lab, starts fleets, and acts as people and solutions do. Its calls let lab time pass while
    they wait, as in `with lab.story()`. function: gets a `Lab` and a `Draw`; its keyword-only arguments are parameters,
    each with a default: `def outage(lab, draw, *, retries=3)`; settings: of the lab. Raises LabError for a parameter
    without a default.
    """
    if function is not None:
        return Story(function, settings)  # type: ignore[arg-type]
    return lambda given: Story(given, settings)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Played:
    """One play of a story.

    seed: repeats it; journal: of its lab, as text that is equal for equal plays; result: what the function returned;
    drawn: the values that it drew, with their labels; error: what it raised, None if nothing.
    """

    seed: int
    journal: str
    result: object
    drawn: tuple[tuple[str | None, object], ...]
    error: BaseException | None = None


def play(
    story: Story, seed: int, *, parameters: Mapping[str, object] | None = None, check: bool = True
) -> Played:
    """Play one future of a story in a lab of its own, and return the play.

    story: made by `@story`; seed: of the lab and of all values that the story draws: the same seed gives the same play,
    byte for byte. parameters: of the story's function, instead of its defaults. check: whether to raise the error of
    the story, with a note that names the seed; otherwise it is returned. Raises LabError for an unknown parameter, and
    for a story that discards the seed's values, as by `assume` of hypothesis.
    """
    if not isinstance(story, Story):
        raise LabError(f"play: expected a function with @story, not {story!r:.100}")
    if type(seed) is not int:
        raise LabError(f"play: seed: expected a whole number, not {seed!r}")
    given_parameters = dict(parameters or {})
    story.expect_parameters(given_parameters)
    plays: list[Played] = []
    with needs("lab"):
        from hypothesis import given, settings, strategies

    def tell(data: Any) -> None:
        plays.append(_play(story, seed, given_parameters, data.draw))

    future: Any = settings(database=None)(given(strategies.data())(tell))
    if future.hypothesis.fuzz_one_input(chance(seed, "future").randbytes(SUPPLY)) is None:
        raise LabError(f"{story.name}: the values of seed {seed} are no future of this story")
    [played] = plays
    if check and played.error is not None:
        shown = f", parameters={given_parameters!r}" if given_parameters else ""
        played.error.add_note(f"play({story.name}, seed={seed}{shown}) repeats this")
        raise played.error
    return played


def _play(story: Story, seed: int, parameters: Mapping[str, Any], source: DrawFrom) -> Played:
    """Play a story, and return its error. Raises what hypothesis raises to end the play."""
    result: object = None
    failed: Exception | None = None
    with Lab(seed=seed, **story.settings) as lab:
        told = lab.story()

        def draw_here(strategy: Any, label: Any = None) -> Any:
            # hypothesis draws in the thread of its test alone
            return told.run_in_own_thread(partial(source, strategy, label))

        draw = Draw(draw_here)
        try:
            with told:
                result = story.function(lab, draw, **parameters)
        except Exception as error:
            if is_end(error):
                raise
            failed = error
        draw.expect_running()
        return Played(seed, lab.journal.canonical(), result, tuple(draw.values), failed)


def _parameters(function: Act, name: str) -> dict[str, object]:
    """Return the names and defaults of a function's keyword-only arguments. Raises LabError if one has no default."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some callables of C have no signature
        return {}
    found = {each.name: each.default for each in arguments if each.kind is each.KEYWORD_ONLY}
    for each, default in found.items():
        if default is inspect.Parameter.empty:
            raise LabError(f"{name}: parameter {each!r} has no default; expected `*, {each}=…`")
    return found
