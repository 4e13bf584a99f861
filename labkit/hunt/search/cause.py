"""Cause of a failure: what faults hit, the records that lead to the breach, and what differs without a fault."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labkit.core.canonical import CanonicalRecord
from labkit.core.errors import LabError
from labkit.core.record_lines import FAILED
from labkit.core.words import counted
from labkit.hunt.faults.drawn_faults import OF_DEVICES, OF_PROGRAMS, ORDER, RESTART, DrawnFault
from labkit.hunt.kinds import MEANINGS
from labkit.hunt.plays.breach import Breach
from labkit.hunt.plays.future import Played, PlayPlan
from labkit.hunt.plays.given import GivenFaults, GivenValues
from labkit.hunt.plays.play import play_given
from labkit.hunt.promises.custom import Always, Eventually
from labkit.hunt.search.play_records import (
    FAULTS,
    READS,
    SECOND,
    UNAWARE,
    Order,
    PlayRecords,
    seconds_text,
)

ZERO = "seconds of lab time since the story began"
MOST = 24  # steps
ENDS = 10  # steps at both ends of a way that is longer
NEAR = 6  # steps after a hit that are shown with their causes
SHOWN_HITS = 3  # of one fault
OVERLAPS = (*ORDER, "call delay")  # kinds of faults by which runs of handlers overlap
NEVER = "nothing has written it before"
REACH = 600  # records that a search looks at
# Parts of texts that differ between plays for no reason: times, ids, digests.
UNLIKE = re.compile(r"\b1[5-9]\d{8}(?:\d{3}|\d{6})?\b|\b(?=\w*\d)[A-Za-z0-9]{16,}\b")
WORD = re.compile(r"[\w./-]*\w")


@dataclass(frozen=True)
class CauseStep:
    """A record on the way to a breach.

    number: of the step, from 1; name: of the record in the journal; seconds: of lab time since the story began; text: a
    line with values; links: what it depends on, as text with numbers of steps; is_hit: whether a fault left it; breaks:
    whether it shows the breach.
    """

    number: int
    name: str
    seconds: float
    text: str
    links: str
    is_hit: bool
    breaks: bool

    def __str__(self) -> str:
        marks = ", ".join(each for each in (self.links, "shows the breach" if self.breaks else "") if each)
        return f"{self.number:2} {seconds_text(self.seconds)} s  {self.text}{f'  [{marks}]' if marks else ''}"


@dataclass(frozen=True)
class FailureCause:
    """Cause of a failure, as far as its journal tells.

    hits: what each fault did, a sentence each; steps: records that lead to the breach, oldest first; left_out: number
    of steps in their middle that are not shown, after step `ENDS`; difference: to the play without the last fault, or
    why there is none; empty for a play without faults.
    """

    hits: tuple[str, ...]
    steps: tuple[CauseStep, ...]
    left_out: int
    difference: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the cause as lines of text."""
        steps = [str(each) for each in self.steps]
        if self.left_out:
            steps.insert(ENDS, f"   … {counted(self.left_out, 'record')} of this way")
        return [
            *(f"hit: {each}" for each in self.hits),
            f"the way to the breach, in {ZERO}:",
            *(f"  {each}" for each in steps),
            *self.difference,
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def cause_of(plan: PlayPlan, played: Played, breach: Breach) -> FailureCause:
    """Return the cause of a failure. Plays once more, without the last fault, if the play has one.

    plan: of the hunt; played: the play that failed; breach: what it broke.
    """
    records = PlayRecords(played.journal, played.began)
    if not records.all:
        return FailureCause((), (), 0, ())
    starts = _starts(records, plan, played, breach)
    end = max(records.order[each] for each in starts)
    hits = [each for each, found in enumerate(records.all) if found.kind in FAULTS]
    races = records.races() if any(each.kind in OVERLAPS for each in played.faults) else []
    aims = {*hits, *(place for pair in races for place in pair)}
    steps, left_out = _steps(records, starts, aims, end)
    difference: tuple[str, ...] = ()
    if played.faults:
        last = _last_fault(records, played, end[0])
        difference = _difference(records, plan, played, last, end)
    texts = [_hit_text(records, played, number, end[0]) for number in range(len(played.faults))]
    names = {each.name for each in steps}
    races.sort(key=lambda pair: not {records.all[each].name for each in pair} <= names)
    texts += [
        f"handlers overlap: {records.timed(read)}; another run, already under way, writes it later: "
        f"{records.timed(write)}"
        for read, write in races[:1]
    ]
    return FailureCause(tuple(texts), steps, left_out, difference)


def settings_text(settings: Mapping[str, object]) -> str:
    """Return the settings of a fault as text."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def weakened(faults: Sequence[DrawnFault], number: int) -> tuple[DrawnFault, ...]:
    """Return faults without one; of an overlap in step only the lengths of calls are left out."""
    fault = faults[number]
    rest = {name: value for name, value in fault.settings.items() if name != "calls"}
    is_step = fault.kind == "overlap" and "calls" in fault.settings and bool(rest.get("in_step"))
    kept = (replace(fault, settings=rest),) if is_step else ()
    return (*faults[:number], *kept, *faults[number + 1 :])


def _starts(records: PlayRecords, plan: PlayPlan, played: Played, breach: Breach) -> list[int]:
    """Return the records that show the breach: the calls of a look, or else the latest record that the reason names."""
    place = records.places.get(breach.record or "")
    looks = {records.places[each] for each in played.looks if each in records.places}
    if place is not None and place in looks:
        return [each for each in looks if records.all[each].time == records.all[place].time]
    checks = {each.name for each in plan.story.promises if isinstance(each, Always | Eventually)}
    if place is not None and breach.promise not in checks:  # a check has only the newest record
        return [place]
    until = (played.began + played.seconds if breach.at is None else breach.at) * SECOND
    words = set(WORD.findall(breach.reason))
    rated = [
        (len(words & set(WORD.findall(records.text(each)))), order)
        for each, order in enumerate(records.order)
        if records.all[each].time <= until and each not in looks and records.all[each].kind not in FAULTS
    ]
    return [max(rated)[1][-1]] if rated else [0]


def _steps(
    records: PlayRecords, starts: Sequence[int], aims: set[int], end: Order
) -> tuple[tuple[CauseStep, ...], int]:
    """Return the steps from the nearest aim to the breach, or those nearest to it, and the number of those left out."""
    links: dict[int, list[tuple[int, str]]] = {}
    followed: dict[int, int | None] = {}  # by place, where the search came from
    for start in starts:
        work = [
            each for each in records.tree(start) if records.all[each].kind in ("request", "script", "call")
        ]
        followed |= dict.fromkeys((start, *work))
    waiting = deque(followed)
    reached: int | None = None
    while waiting and len(links) < REACH and reached is None:
        place = waiting.popleft()
        reached = place if place in aims else None
        links[place] = [*dict.fromkeys(records.before(place))]
        for each, _ in links[place]:
            if each not in followed:
                followed[each] = place
                waiting.append(each)
    way: list[int] = []
    while reached is not None:
        way.append(reached)
        reached = followed[reached]
    chosen = dict.fromkeys((*starts, *(way or [*links][:MOST])))
    if way:
        beside = [each for place in way[::-1] for each in links.get(place, ()) if each[1] != "caused by"]
        for each, how in beside:
            chosen |= dict.fromkeys(records.chain(each) if how == UNAWARE else (each,))
        for place in (*way[:NEAR], way[-1]):  # what is wrong is near the hit, as a rule
            chosen = _with(chosen, records.chain(place))
    else:
        before = sorted((each for each in aims if records.order[each] <= end), key=records.order.__getitem__)
        for each in before[-SHOWN_HITS:]:
            chosen |= dict.fromkeys(records.chain(each))
    for run in [
        each for each in chosen if records.all[each].kind == "script"
    ]:  # what else it did, or did not
        chosen = _with(chosen, (each for each in records.effects[run] if records.all[each].kind == "call"))
    calls = {each for each in starts if not records.all[each].cause and records.all[each].kind == "call"}
    # a look comes after all else of its moment
    places = sorted(chosen, key=lambda each: (records.moment(each)[0], each in calls, records.moment(each)))
    left_out = max(0, len(places) - MOST)
    if left_out:
        places = [*places[:ENDS], *places[ENDS + left_out :]]
    numbers = {place: number for number, place in enumerate(places, 1)}
    return tuple(_step(records, place, numbers, links, starts) for place in places), left_out


def _with(chosen: dict[int, None], more: Iterable[int]) -> dict[int, None]:
    """Return records with more of them, or without these if they would be too many."""
    wider = chosen | dict.fromkeys(more)
    return wider if len(wider) <= MOST else chosen


def _step(
    records: PlayRecords,
    place: int,
    numbers: Mapping[int, int],
    links: Mapping[int, list[tuple[int, str]]],
    starts: Sequence[int],
) -> CauseStep:
    found = links.get(place) or [*records.before(place)]
    shown = [f"{how} {numbers[each]}" for each, how in found if each in numbers]
    if records.data[place][0] and not any(how == READS for _, how in found):
        shown.append(NEVER)
    record = records.all[place]
    return CauseStep(
        numbers[place],
        record.name,
        records.seconds(place),
        records.text(place),
        ", ".join(shown),
        record.kind in FAULTS,
        place in starts,
    )


def _name(faults: Sequence[DrawnFault], number: int) -> str:
    """Return the name of a fault in the journal."""
    kind = faults[number].kind
    return f"{kind} {sum(each.kind == kind for each in faults[: number + 1])}"


def _hits(records: PlayRecords, played: Played, number: int, end: int) -> list[int]:
    """Return the records of a fault's hits until a lab time, oldest first."""
    name = _name(played.faults, number)
    is_restart = played.faults[number].kind == RESTART
    return [
        place
        for place, each in enumerate(records.all)
        if each.time <= end
        and ((is_restart and each.kind == "restart") or (each.detail or {}).get("fault") == name)
    ]


def _last_fault(records: PlayRecords, played: Played, end: int) -> int:
    """Return the number of the fault that was the last to hit before the breach; of overlap if no other has hit."""

    def rank(number: int) -> tuple[int, int, int]:
        kind, found = played.faults[number].kind, _hits(records, played, number, end)
        if kind in ORDER:
            return 1, 0, number
        time = max((records.all[each].time for each in found), default=0)
        has_hit = time or (kind in (*OF_DEVICES, *OF_PROGRAMS) and any(played.hits[number : number + 1]))
        return (2 if has_hit else 0), time, number

    return max(range(len(played.faults)), key=rank)


def _hit_text(records: PlayRecords, played: Played, number: int, end: int) -> str:
    """Return what a fault did until the breach as a sentence."""
    fault, found = played.faults[number], _hits(records, played, number, end)
    what = f"{fault.kind}: {MEANINGS[fault.kind]}"
    if not found:
        count = played.hits[number] if number < len(played.hits) else 0
        since = "; `after` counts from the beginning of a fleet's run" if fault.kind in OF_DEVICES else ""
        return f"{what} ({settings_text(fault.settings)}{since}); {counted(count, 'hit')}"
    shown = []
    for place in found[-SHOWN_HITS:]:
        target = records.target(place)
        hit = f": {records.text(target)}" if target is not None else ""
        shown.append(f"at {seconds_text(records.seconds(place))} s{hit}")
    if any(records.all[each].kind == "restart" for each in found) or fault.kind.startswith(RESTART):
        what += ", and scripts what they keep in variables"
    more = f" ({counted(len(found), 'hit')} until the breach, these last)" if len(found) > SHOWN_HITS else ""
    return f"{what}{more}; {'; '.join(shown)}"


def _difference(
    records: PlayRecords, plan: PlayPlan, played: Played, number: int, end: Order
) -> tuple[str, ...]:
    """Return the first difference to the play without a fault, as lines."""
    fault, faults = played.faults[number], weakened(played.faults, number)
    what = f"without the fault {_name(played.faults, number)}"
    if len(faults) == len(played.faults):
        what = "in which service calls take no time"
    plan = replace(plan, faults=GivenFaults(faults), limits=played.limits)
    try:
        twin = play_given(plan, played.seed, GivenValues(played.drawn))
    except LabError as error:
        return (f"there is no play {what}: {error}",)
    if twin is None:
        return (f"there is no play {what}: its values are no future of the story",)
    there = PlayRecords(twin.journal, twin.began)
    hits = _hits(records, played, number, end[0]) if fault.kind != RESTART else []
    targets = [each for each in map(records.target, hits) if each is not None]
    looks = {records.places[each] for each in played.looks if each in records.places}
    found = first_difference(records, there, targets, looks)
    if found is None or found[0] > end:
        return (
            f"no difference to the play {what} explains it: only what the fault hit differs until the breach",
        )
    lines = [_side(side, place) for side, place in zip((records, there), found[1], strict=True)]
    return f"first difference to the play {what}:", f"  here:  {lines[0]}", f"  there: {lines[1]}"


def _side(records: PlayRecords, place: int | None) -> str:
    """Return what one of two plays has at their difference, with who wrote what it reads."""
    if place is None:
        return "nothing of the kind"
    text = records.timed(place)
    if not records.data[place][0]:
        return text
    found = [records.timed(each) for each, how in records.before(place) if how == READS]
    return f"{text}  [{READS} {'; '.join(found)}]" if found else f"{text}  [{NEVER}]"


def first_difference(
    here: PlayRecords, there: PlayRecords, targets: Collection[int], looks: Collection[int]
) -> tuple[Order, tuple[int | None, int | None]] | None:
    """Return the first difference of two plays: its moment, and the places of the record, None in one that lacks it.

    Records are compared without times and ids, each with that of the same cause, actor, operation, data and number.
    targets: what a fault hit, which is left out with all that followed; looks: records of promises' looks.
    """
    asked = {_question(here, each) for each in looks}
    names: dict[tuple[object, ...], int] = {}
    keys, others = _keys(here, asked, names), _keys(there, asked, names)
    above: dict[int, Any] = {key: name[0] for name, key in names.items()}
    hit = {key for key, place in keys.items() if place in targets or _is_cut(here.all[place])}
    hit |= {key for key, place in others.items() if _is_cut(there.all[place])}
    found: list[tuple[Order, tuple[int | None, int | None]]] = []
    for key, cause in above.items():  # causes come first
        own, other = keys.get(key), others.get(key)
        if key in hit or cause in hit:
            hit.add(key)
        elif own is None and other is not None:
            while cause and cause not in keys:
                cause = above[cause]
            found.append((_lacks(here, keys[cause]) if cause else there.order[other], (own, other)))
        elif own is not None:
            texts = {
                UNLIKE.sub("…", each.text(at)) for each, at in ((here, own), (there, other)) if at is not None
            }
            if other is None or len(texts) > 1:
                found.append((here.order[own], (own, other)))
    return min(found, key=lambda each: (each[0][:2], None in each[1]), default=None)


def _lacks(records: PlayRecords, work: int) -> Order:
    """Return when work that lacks a record was over; where it failed, that comes before what is missing since."""
    time, rank, place = records.order[work]
    return time, rank - ((records.all[work].status or 0) < FAILED), place


def _keys(
    records: PlayRecords, asked: Collection[object], names: dict[tuple[object, ...], int]
) -> dict[int, int]:
    """Return the places of records by the number of what they are: cause, actor, operation, data, which of these it is.

    asked: by looks, which is left out; names: numbers of both plays, a cause before its effects.
    """
    found: dict[int, int] = {}
    numbers: dict[str, int] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    for place in sorted(range(len(records.all)), key=records.moment):
        each, (read, written) = records.all[place], records.data[place]
        if each.kind in FAULTS or (not each.cause and _question(records, place) in asked):
            continue
        name = (
            numbers.get(each.cause, 0),
            each.actor,
            each.kind,
            UNLIKE.sub("…", each.summary),
            *sorted(read | written),
        )
        counts[name] += 1
        numbers[each.name] = number = names.setdefault((*name, counts[name]), len(names) + 1)
        found[number] = place
    return found


def _question(records: PlayRecords, place: int) -> object:
    each = records.all[place]
    return each.actor, each.summary, str((each.detail or {}).get("parameters"))


def _is_cut(record: CanonicalRecord) -> bool:
    return record.status is None and record.kind in ("request", "script")
