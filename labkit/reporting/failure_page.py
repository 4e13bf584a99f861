"""HTML page of a failure that a hunt found: what was promised, what happened and why, and how to repeat it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path

from labkit.core.errors import LabError
from labkit.hunt.faults.menu import Menu
from labkit.hunt.literals import is_literal
from labkit.hunt.plays.written import literal
from labkit.hunt.promises.promise import Promise
from labkit.hunt.search.cause import ZERO, settings_text
from labkit.hunt.search.failure import HuntFailure
from labkit.reporting.failure_records import LANES, ShownRecord, shown_records
from labkit.reporting.html import failure_html, failure_records_html

COLUMN = 30  # pixels of the picture for a record
LANE = 44  # and for a lane
NAMES = 84  # for the names of lanes, which stay in view
TOP = 26  # for times


@dataclass(frozen=True)
class Dot:
    """A record in the picture. x, y: its place in pixels; back: the place of its cause, None if that is not shown."""

    record: ShownRecord
    x: int
    y: int
    back: tuple[int, int] | None
    time: str  # shown above the first record of each moment


@dataclass(frozen=True)
class Picture:
    """Records in lanes over lab time, from left to right. lanes: name and y of each."""

    lanes: tuple[tuple[str, int], ...]
    dots: tuple[Dot, ...]

    @property
    def width(self) -> int:
        """Width in pixels, without the names of the lanes."""
        return COLUMN * (len(self.dots) + 1)

    @property
    def names(self) -> int:
        """Width of the names of the lanes in pixels."""
        return NAMES

    @property
    def height(self) -> int:
        """Height in pixels."""
        return TOP + LANE * len(self.lanes)


def failure_page(failure: HuntFailure, file: Path | None = None) -> str:
    """Return the HTML page of a failure; it needs nothing from the network.

    failure: of a hunt; file: that repeats it with `labkit hunt --replay`, None if there is none.
    """
    played = failure.play()
    breach = failure.breach if failure.smallest is None else failure.smallest.breach
    records = shown_records(played.journal, breach.record, breach.at, played.began)
    return failure_html(
        {
            "failure": failure,
            "breach": breach,
            "promise": (promise := _promise_of(failure)),
            "on": _drawn_from(failure, promise),
            "played": played,
            "faults": [
                (each.kind, settings_text(each.settings), hits)
                for each, hits in zip(played.faults, played.hits or (None,) * len(played.faults), strict=True)
            ],
            "values": [
                (label or "", literal(value) if is_literal(value) else repr(value))
                for label, value in played.drawn
            ],
            "cause": failure.cause,
            "zero": ZERO,
            "records": records,
            "total": played.journal.count("\n"),
            "picture": picture_of(records),
            "is_linked": True,
            "story": inspect.getdoc(failure.plan.story.function) or "",
            "cell": _cell(failure),
            "file": file,
        }
    )


class FailureRecords:
    """Records that explain a failure: in a notebook lanes over lab time and a table, as text one line each."""

    def __init__(self, failure: HuntFailure) -> None:
        breach = failure.breach if failure.smallest is None else failure.smallest.breach
        played = failure.play()
        self.records = shown_records(played.journal, breach.record, breach.at, played.began)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.records))

    def _repr_html_(self) -> str:
        values = {"records": self.records, "picture": picture_of(self.records), "is_linked": False}
        return failure_records_html(values)


def picture_of(records: list[ShownRecord]) -> Picture:
    """Return the picture of records: one column each, in their order; lanes without records are left out."""
    lanes = [each for each in LANES if any(record.lane == each for record in records)]
    rows = {name: TOP + LANE * place + LANE // 2 for place, name in enumerate(lanes)}
    places: dict[str, tuple[int, int]] = {}
    for column, each in enumerate(records):
        places[each.name] = COLUMN * column + COLUMN // 2, rows[each.lane]
    dots = []
    shown: float | None = None
    for each in records:
        time = "" if each.seconds == shown else f"{round(each.seconds, 3):g}"
        shown = each.seconds
        dots.append(Dot(each, *places[each.name], places.get(each.cause), time))
    return Picture(tuple(rows.items()), tuple(dots))


def _promise_of(failure: HuntFailure) -> Promise | None:
    found = [each for each in failure.plan.story.promises if each.name == failure.breach.promise]
    return found[0] if found else None


def _drawn_from(failure: HuntFailure, promise: Promise | None) -> str:
    """Return the faults that could be drawn for a promise, empty if no menu says it."""
    menu = failure.plan.faults
    if not isinstance(menu, Menu):
        return ""
    return f"{menu.level}: {menu.choice if promise is None else menu.choice & promise.choice}"


def _cell(failure: HuntFailure) -> str:
    """Return the cell that repeats the failure, or why there is none, as a comment."""
    try:
        return failure.cell()
    except LabError as error:
        return f"# {error}"
