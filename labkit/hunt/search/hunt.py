"""Hunts: plays of many futures of a story, in search of one that breaks a promise."""

from __future__ import annotations

import time as real_time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from labkit.control.clock import number_of
from labkit.core.errors import LabError
from labkit.core.handle import short_trace, warn
from labkit.core.machine import slowness
from labkit.core.progress import Progress
from labkit.core.words import counted
from labkit.hunt.plays.breach import Breach, breaches_of
from labkit.hunt.plays.future import FaultSource, NoFaults, Played, PlayPlan
from labkit.hunt.plays.levels import fault_source
from labkit.hunt.promises.promise import Promise
from labkit.hunt.search.failure import HuntFailure
from labkit.hunt.search.hunted import Hunt
from labkit.hunt.search.past import play_past
from labkit.hunt.search.play_queue import DonePlay, PlayQueue
from labkit.hunt.search.shrink import PLAYS as SMALLER
from labkit.hunt.search.shrink import shrink as cut_down
from labkit.hunt.search.trials import PlayTrial, TaskPlayer
from labkit.hunt.story import Story
from labkit.hunt.workers.pool import PlayWorkers, usable_cores
from labkit.hunt.workers.time_limit import checked_limit, time_limit
from labkit.hunt.workers.worker import WorkerError

PLAYS = 1000  # of a hunt without limits
GUARD = 60.0  # real seconds of a play, on a machine whose `slowness` is 1

Stop = Literal["first", "never"]
Within = float | None | Literal["machine"]


@short_trace
def hunt(
    story: Story,
    seeds: int | None = None,
    *,
    workers: int | None = None,
    time: float | None = None,
    level: str | FaultSource = "rough",
    parameters: Mapping[str, object] | None = None,
    promises: Iterable[Promise] | None = None,
    first_seed: int = 0,
    stop: Stop = "first",
    shrink: int = SMALLER,
    within: Within = "machine",
    failures: str | Path | None = None,
    dask: Any = None,
    progress: bool | None = None,
    shrink_seconds: float | None = None,
) -> Hunt:
    """Play many futures of a story, and return those that break a promise, cut down to the smallest play that does.

    story: made by `@story`. seeds: number of plays, by default 1000, or any number where `time` is given; time: real
    seconds after which no play begins. workers: number of processes, by default one for each core, 0 for this process
    alone. level: of the faults that are drawn, `calm`, `rough` or `wild`, or a source of faults. parameters: of the
    story's function, by name; promises: instead of the story's own. first_seed: seed of the first play; each has the
    seed of its number. stop: `first` ends the hunt with the first failure, `never` plays all seeds and returns one
    failure for each promise. shrink: number of plays in which each failure is cut down, 0 for not at all; within: real
    time after which a play is ended, by default a minute or more, as quick as this machine is; None for no limit, as a
    debugger needs it. In this process it is interrupted as by Ctrl-C. What a limit has ended is no failure, and
    counted apart. failures: folder of written plays, which are played first; if one of them breaks again, the hunt does
    not begin, except with `stop="never"`. dask: address of a scheduler, a Client or a cluster, whose workers play.
    progress: whether to show a bar, by default on a terminal and in notebooks. shrink_seconds: what limited a search in
    1.3; only 0 has an effect. Ctrl-C ends the hunt with what is known so far. Raises LabError for
    other arguments, and if the play without faults takes too long.
    """
    if shrink_seconds is not None:
        warn("hunt: shrink_seconds has become shrink, a number of plays")
        shrink = shrink if shrink_seconds else 0
    _expect(story, seeds, time, first_seed, stop, shrink)
    if promises is not None:
        story = Story(story.function, story.settings, promises, story.past, story.without)
    given = dict(parameters or {})
    story.with_defaults(given)
    limit = checked_limit(GUARD * slowness() if within == "machine" else within)
    plays = seeds if seeds is not None or time is not None else PLAYS
    calm: list[Played] = []
    bar = Progress(f"hunt of {story.name}", plays, "play", wanted=progress)
    try:
        with bar, time_limit(limit):
            source = fault_source(level, story, given, calm.append)
    except WorkerError as error:
        raise LabError(
            f"{story.name}: its play without faults, which shows their places, was {error} of real time, "
            "which is this machine's: tell less in it, or use within=None"
        ) from None
    plan = PlayPlan(story, given, source)
    count = 0 if workers == 0 else workers or (0 if dask is not None else usable_cores())
    found = Hunt(plan, _shown(level), count)
    if failures is not None:
        with bar:
            found.past, found.stale = play_past(story, Path(failures), limit)
        if found.past and stop == "first":
            found.is_begun = False
            return found
    began = real_time.monotonic()
    pool = TaskPlayer(plan).workers(workers, within=limit, dask=dask)
    queue = PlayQueue(pool, first_seed, plays, None if time is None else began + time)
    with closing(pool), bar:
        try:
            _play_all(found, queue, stop, bar)
        except KeyboardInterrupt:
            found.interrupted = True
            warn(f"hunt interrupted after {counted(len(found.done), 'play')}, whose results are returned")
        found.seconds = real_time.monotonic() - began
        _note_calm(found, calm)
        for title in found.failures if shrink else ():
            _cut_down(found, title, shrink, limit, pool, bar)
    # an error of the story itself is told before what faults bring about
    found.failures = dict(sorted(found.failures.items(), key=lambda each: not each[1].in_calm))
    return found


def _shown(level: str | FaultSource) -> str:
    """Return the name of a level: that of a menu's, or of another source's class."""
    return level if isinstance(level, str) else getattr(level, "level", type(level).__name__)


def _play_all(found: Hunt, queue: PlayQueue, stop: Stop, bar: Progress) -> None:
    faults = 0
    for done in queue:
        found.done.append(done)
        bar.update(note=f"{counted(faults, 'fault')}, {_broken(found)}")
        if done.row is None:
            continue
        faults += len(done.row.faults)
        for breach in done.row.breaches:
            _add(found, done, breach)
            if stop == "first":
                return


def _add(found: Hunt, done: DonePlay, breach: Breach) -> None:
    """Count a failure."""
    known = found.failures.get(breach.title)
    if known is None:
        found.failures[breach.title] = HuntFailure(found.plan, breach, (done.number,))
    elif done.number not in known.numbers:
        found.failures[breach.title] = replace(known, numbers=(*known.numbers, done.number))


def _note_calm(found: Hunt, calm: list[Played]) -> None:
    """Note what also breaks in the play without faults, and add what broke in it alone."""
    for played in calm:
        plan = replace(found.plan, faults=NoFaults())
        for breach in breaches_of(plan.story, played):
            known = found.failures.get(breach.title) or HuntFailure(plan, breach, (played.seed,))
            found.failures[breach.title] = replace(known, broke_calm=True)


def _broken(found: Hunt) -> str:
    broken = [f"{len(each.numbers)} {title}" for title, each in found.failures.items()]
    return f"broken: {', '.join(broken)}" if broken else "nothing broke"


def _cut_down(
    found: Hunt,
    title: str,
    plays: int,
    within: float | None,
    workers: PlayWorkers[Any, Any],
    bar: Progress,
) -> None:
    """Replace a failure by itself with its smallest play."""
    failure = found.failures[title]
    try:
        smallest = cut_down(
            failure.plan,
            PlayTrial(failure.numbers[0], failure.breach),
            plays=plays,
            within=within,
            workers=workers,
            progress=lambda count, best: bar.update(0, f"shrinking: play {count} of {plays}, {best}"),
        )
    except LabError as error:
        failure = replace(failure, note=str(error))
    except KeyboardInterrupt:
        failure, found.interrupted = replace(failure, note="not cut down: interrupted"), True
    else:
        failure = replace(failure, smallest=smallest)
        found.interrupted |= smallest.interrupted
    found.failures[title] = failure


def _expect(
    story: object, seeds: object, time: object, first_seed: object, stop: object, shrink: object
) -> None:
    """Raise LabError for arguments that are none of a hunt."""
    if not isinstance(story, Story):
        raise LabError(f"hunt: expected a function with @story, not {story!r:.100}")
    if seeds is not None and (type(seeds) is not int or seeds < 1):
        raise LabError(f"hunt: seeds: expected a whole number above 0, not {seeds!r}")
    if time is not None and number_of(time, "time") <= 0:
        raise LabError(f"hunt: time: expected a number of seconds above 0, not {time!r}")
    if type(first_seed) is not int or first_seed < 0:
        raise LabError(f"hunt: first_seed: expected a whole number of 0 or more, not {first_seed!r}")
    if type(shrink) is not int or shrink < 0:
        raise LabError(f"hunt: shrink: expected a number of plays of 0 or more, not {shrink!r}")
    if stop not in ("first", "never"):
        raise LabError(f"hunt: stop: expected first or never, not {stop!r}")
