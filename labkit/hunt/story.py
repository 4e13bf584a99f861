"""Stories as functions, and plays of them: one seed, one future."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, Unpack, overload

from labkit.core.chance import chance
from labkit.core.errors import LabError
from labkit.core.extras import needs
from labkit.hunt.draw import Draw, DrawFrom, is_end
from labkit.lab.lab import Lab
from labkit.settings import LabKeywords

Act = Callable[[Lab, Draw], object]

SUPPLY = 64 * 1024  # bytes from which the values of a play are drawn


class Story:
    """A story: a function of a lab and a `Draw`, and the settings of its lab. Made by `@story`."""

    def __init__(self, function: Act, settings: LabKeywords) -> None:
        if not callable(function):
            raise LabError(f"story: expected a function of a lab and a draw, not {function!r}")
        self.function = function
        self.settings = settings
        self.name: str = getattr(function, "__name__", "story")
        update_wrapper(self, function)

    def __call__(self, lab: Lab, draw: Draw) -> object:
        """Tell the story in a lab.

        lab: in a story (`with lab.story()`); draw: of its values.
        """
        return self.function(lab, draw)

    def __repr__(self) -> str:
        return f"<story {self.name}>"


@overload
def story(function: Act, /) -> Story: ...
@overload
def story(**settings: Unpack[LabKeywords]) -> Callable[[Act], Story]: ...
def story(function: Any = None, /, **settings: Any) -> Any:
    """Make a story of a function: `@story` above `def outage(lab, draw): …`, or `@story(profile="field")`.

    The function sets up the lab, starts fleets, and acts as people and solutions do. Its calls let lab time pass while
    they wait, as in `with lab.story()`. function: gets a `Lab` and a `Draw`; settings: of the lab.
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


def play(story: Story, seed: int, *, check: bool = True) -> Played:
    """Play one future of a story in a lab of its own, and return the play.

    story: made by `@story`; seed: of the lab and of all values that the story draws: the same seed gives the same play,
    byte for byte. check: whether to raise the error of the story, with a note that names the seed; otherwise it is
    returned. Raises LabError for a story that discards the seed's values, as by `assume` of hypothesis.
    """
    if not isinstance(story, Story):
        raise LabError(f"play: expected a function with @story, not {story!r:.100}")
    if type(seed) is not int:
        raise LabError(f"play: seed: expected a whole number, not {seed!r}")
    plays: list[Played] = []
    with needs("lab"):
        from hypothesis import given, settings, strategies

    def tell(data: Any) -> None:
        plays.append(_play(story, seed, data.draw))

    future: Any = settings(database=None)(given(strategies.data())(tell))
    if future.hypothesis.fuzz_one_input(chance(seed, "future").randbytes(SUPPLY)) is None:
        raise LabError(f"{story.name}: the values of seed {seed} are no future of this story")
    [played] = plays
    if check and played.error is not None:
        played.error.add_note(f"play({story.name}, seed={seed}) repeats this")
        raise played.error
    return played


def _play(story: Story, seed: int, source: DrawFrom) -> Played:
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
                result = story.function(lab, draw)
        except Exception as error:
            if is_end(error):
                raise
            failed = error
        draw.expect_running()
        return Played(seed, lab.journal.canonical(), result, tuple(draw.values), failed)
