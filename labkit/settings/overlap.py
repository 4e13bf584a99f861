"""Settings of what overlaps on a virtual clock: plain data, the same in a cell and over HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Discriminator, StrictBool, Tag

from labkit.core.keywords import Doc
from labkit.settings.fault_values import Span, Time
from labkit.settings.values import Model


def _step(value: Any) -> str:
    """Return the tag of a value of `in_step`: an own error for each form is clearer than one for both."""
    return "switch" if isinstance(value, bool) else "number"


class OverlapKeywords(TypedDict, total=False):
    """The settings of an overlap as keyword arguments. None: not given."""

    calls: float | Iterable[float] | None
    in_step: bool | float | None
    order: Literal["raised", "random"] | None


class OverlapSettings(Model):
    """Overlap of work in a lab whose clock is virtual. Without settings, nothing does."""

    calls: Annotated[
        Span | None,
        Doc(
            "lab time in seconds that each service call of a handler takes, during which other handlers run; "
            "`[0.001, 0.05]` draws each between two numbers, from the lab's seed"
        ),
    ] = None
    in_step: Annotated[
        Annotated[
            Annotated[StrictBool, Tag("switch")] | Annotated[Time, Tag("number")], Discriminator(_step)
        ],
        Doc(
            "whether devices of runs that start from now on act at the same instants: each sleep of at least one "
            "second ends at the nearest multiple of its length; a number: each sleep of at least so many seconds ends "
            "at the nearest multiple of that number"
        ),
    ] = False
    order: Annotated[
        Literal["raised", "random"],
        Doc(
            "order in which several solutions handle one event: `raised`, as the solutions were added, or `random`, "
            "drawn from the lab's seed for each event"
        ),
    ] = "raised"
