"""Faults of lists of bindings that no row can say: where a day begins and ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import Change, given
from labkit.conformance.mutant import patch

PAGE = "labkit.providers.messaging.bindings:page"
DAY = 86_400


def _moved(**seconds: int) -> Change:
    """The bounds of what a list selects are moved."""

    def moved(wanted: Any) -> Any:
        bounds = {name: getattr(wanted, name) for name in seconds}
        return replace(wanted, **{name: at + seconds[name] for name, at in bounds.items() if at is not None})

    return given(wanted=moved)


def _turned(page: tuple[list[Any], bool], turns: bool) -> tuple[list[Any], bool]:
    return (page[0][::-1], page[1]) if turns else page


last_day_excluded = patch("NTF-LIST-6", PAGE, "the last day does not belong to it", _moved(before=-DAY))
first_second_excluded = patch(
    "NTF-LIST-6", PAGE, "the first second of the first day does not belong to it", _moved(since=1)
)
another_zone = patch("NTF-LIST-6", PAGE, "days are those of another zone", _moved(since=-3600, before=-3600))
previous_turned = patch(
    "NTF-LIST-13",
    PAGE,
    "a page that is gone back to comes in turned order",
    lambda original, *of, newer=None, **how: _turned(original(*of, newer=newer, **how), newer is not None),
)
by_offset = patch(
    "NTF-LIST-13",
    "labkit.providers.messaging.resources:bounds_of",
    "the pages that URLs lead to begin anew",
    lambda original, form: (None, None),
)
