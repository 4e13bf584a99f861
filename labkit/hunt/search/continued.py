"""Failures in files, cut down further than the hunt did that has written them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from labkit.core.errors import LabError
from labkit.core.machine import slowness
from labkit.core.progress import Progress
from labkit.hunt.faults.drawn_faults import DrawnFault
from labkit.hunt.plays.choices import ChosenValue
from labkit.hunt.plays.future import PlayPlan
from labkit.hunt.plays.loading import load_story
from labkit.hunt.plays.replaying import replay
from labkit.hunt.plays.written import read
from labkit.hunt.search.failure import HuntFailure
from labkit.hunt.search.hunt import GUARD
from labkit.hunt.search.shrink import PLAYS, shrink
from labkit.hunt.search.trials import PlayTrial, TaskPlayer
from labkit.lab.fleet_limits import FleetLimits


def cut_down_file(file: Path, plays: int = PLAYS, workers: int | None = None) -> HuntFailure:
    """Return the failure of a file that a hunt has written, with the smallest play that breaks the same.

    plays: number of plays of the search; workers: as of `hunt`. A value whose choices are unknown becomes the simplest,
    or stays. Raises LabError for a file without a play, and if it does not break the same again.
    """
    written = read(file)
    found = replay(written, beside=file, check=False)
    if found.breach is None or found.breach.title != written.breaks:
        raise LabError(f"{file}: {found.text}")
    story, within = load_story(written.story, file), GUARD * slowness()
    plan = PlayPlan(story, written.parameters)
    trial = PlayTrial(
        written.seed,
        found.breach,
        tuple(DrawnFault(*each) for each in written.faults),
        tuple(ChosenValue(label, None, value=value) for label, value in written.values),
        FleetLimits.of(written.limits),
    )
    pool = TaskPlayer(plan).workers(workers, within=within)
    with closing(pool), Progress(f"shrink of {story.name}") as bar:
        smallest = shrink(
            plan,
            trial,
            plays=plays,
            within=within,
            workers=pool,
            progress=lambda count, best: bar.update(0, f"play {count} of {plays}, {best}"),
        )
    return HuntFailure(plan, found.breach, (written.seed,), smallest)
