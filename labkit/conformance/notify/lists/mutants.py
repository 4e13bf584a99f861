"""Code mutants of lists of bindings, for faults that no fault row can express: the bounds of a day."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import Change, change_arguments
from labkit.conformance.mutant import patch

PAGE = "labkit.providers.messaging.bindings:page"
DAY = 86_400


def _shifted(**seconds: int) -> Change:
    """Shift the time bounds of a list by seconds."""

    def moved(wanted: Any) -> Any:
        bounds = {name: getattr(wanted, name) for name in seconds}
        return replace(wanted, **{name: at + seconds[name] for name, at in bounds.items() if at is not None})

    return change_arguments(wanted=moved)


def _reversed(page: tuple[list[Any], bool], turns: bool) -> tuple[list[Any], bool]:
    return (page[0][::-1], page[1]) if turns else page


last_day_excluded = patch("NTF-LIST-6", PAGE, "the day of EndDate is excluded")(_shifted(before=-DAY))
first_second_excluded = patch("NTF-LIST-6", PAGE, "the first second of the day of StartDate is excluded")(
    _shifted(since=1)
)
another_zone = patch("NTF-LIST-6", PAGE, "days are those of another time zone")(
    _shifted(since=-3600, before=-3600)
)
previous_turned = patch("NTF-LIST-13", PAGE, "a previous page comes in reversed order")(
    lambda original, *of, newer=None, **how: _reversed(original(*of, newer=newer, **how), newer is not None)
)
by_offset = patch(
    "NTF-LIST-13",
    "labkit.providers.messaging.resources:bounds_of",
    "the URL of every page leads to the first page",
)(lambda original, form: (None, None))
