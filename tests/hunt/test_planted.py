"""Stories with planted bugs: a fault breaks the promise of each, and never that of its mended twin."""

from __future__ import annotations

from functools import partial

import pytest

from labkit import Lab
from labkit.hunt import Draw, Played, play, story
from labkit.lab.fleet import Fleet
from tests.hunt.planted import PLANTED, bug_of, twin_of
from tests.hunt.planted.parts import Harm, unharmed
from tests.sizes import size

pytestmark = pytest.mark.timeout(300)
ALIAS = "/onep:v1/stack/alias"


def overlap(lab: Lab, fleet: Fleet | None) -> None:
    lab.overlap(calls=(0.001, 0.05), in_step=True, order="random")


def doubled(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add("device datapoint", doubled=True, chance=0.2)


def doubled_late(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add("device datapoint", doubled=True, late=150, chance=0.2)


def refused(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add(f"POST {ALIAS}", status=503, after=300, seconds=90)


def dropped(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add(f"POST {ALIAS}", cut="after", after=300, seconds=90)


def restart(lab: Lab, fleet: Fleet | None) -> None:
    lab.at(310, partial(lab.restart, down=10))


def restart_at_call(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add("*.*", restart=True, down=3, first=1, after=0.5)


def wrong_clock(lab: Lab, fleet: Fleet | None) -> None:
    assert fleet is not None
    fleet.faults.add("wrong clock", seconds=90, after=20)


def late_answers(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add(f"GET {ALIAS}", delay=(5, 30), when="after")


def polls_refused(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add(f"GET {ALIAS}", status=503, chance=0.3)


def delays(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add("*.*", delay=(0.1, 20), chance=0.5)
    lab.faults.add(f"* {ALIAS}", delay=(0.1, 20), chance=0.5)
    lab.faults.add("device datapoint", delay=(0.1, 20), chance=0.5)


def printer_refuses(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add("Printer.print", status=503, first=2)


def calls_fail(lab: Lab, fleet: Fleet | None) -> None:
    lab.faults.add("*.*", status=503, chance=0.3)


# What breaks each bug, and what else its twin has to bear.
HARMS: dict[str, tuple[tuple[Harm, ...], tuple[Harm, ...]]] = {
    "doubled_event": ((doubled, doubled_late), (overlap, delays)),
    "endless_retry": ((refused, dropped), (restart, delays)),
    "expiry_race": ((overlap,), (delays, restart_at_call)),
    "late_subscription": ((overlap,), (delays, doubled)),
    "lost_token": ((restart,), (overlap, delays, restart_at_call, doubled)),
    "lost_update": ((overlap,), (delays,)),
    "quota_before_refusal": ((printer_refuses, calls_fail), (overlap, delays, restart_at_call)),
    "wall_time_cursor": ((wrong_clock, late_answers), (overlap, delays, polls_refused)),
}


def played(name: str, harm: Harm, seed: int, *, mended: bool) -> Played:
    """Play a story with faults. Raises its error."""
    module = PLANTED[name]

    @story(promises=[module.PROMISE])
    def harmed(lab: Lab, draw: Draw) -> None:
        module.tell(lab, draw, mended=mended, harm=harm)

    found = play(harmed, seed, check=False)
    if found.error is not None:
        raise found.error
    return found


def is_broken(name: str, harm: Harm, seed: int, *, mended: bool) -> bool:
    """Play a story with faults, and return whether its promise is broken. Raises its error."""
    [verdict] = played(name, harm, seed, mended=mended).verdicts
    assert verdict.state in ("kept", "broken"), verdict
    return verdict.state == "broken"


def test_each_bug_has_its_harms() -> None:
    assert HARMS.keys() == PLANTED.keys()
    assert len(PLANTED) == 8


@pytest.mark.sampled
@pytest.mark.filterwarnings("ignore:a behaviour ends at the first")  # the meters survive no restart
@pytest.mark.parametrize(
    ("name", "harm"),
    [pytest.param(name, harm, id=f"{name}-{harm.__name__}") for name in HARMS for harm in HARMS[name][0]],
)
def test_a_fault_breaks_the_bug_and_not_its_twin(name: str, harm: Harm) -> None:
    """Also twice the same: the first seed that breaks it does so in a second play."""
    seeds = range(size(6, 50))
    broken = [seed for seed in seeds if is_broken(name, harm, seed, mended=False)]
    assert broken
    first, again = (played(name, harm, broken[0], mended=False) for _ in range(2))
    assert (first.journal, first.verdicts) == (again.journal, again.verdicts)
    for seed in broken[: size(3, 50)]:
        assert not is_broken(name, harm, seed, mended=True)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "harm"),
    [pytest.param(name, harm, id=f"{name}-{harm.__name__}") for name in HARMS for harm in HARMS[name][1]],
)
def test_a_twin_bears_what_its_promise_names(name: str, harm: Harm) -> None:
    for seed in range(size(2, 50)):
        assert not is_broken(name, harm, seed, mended=True)


@pytest.mark.sampled
@pytest.mark.parametrize("name", PLANTED)
def test_without_faults_bug_and_twin_keep_the_promise(name: str) -> None:
    for seed in range(size(2, 50)):
        for mended in (False, True):
            assert not is_broken(name, unharmed, seed, mended=mended)


@pytest.mark.sampled
@pytest.mark.parametrize("name", PLANTED)
def test_the_stories_of_a_bug(name: str) -> None:
    """Both have the same promise, and tell what `tell` does."""
    for mended, told in ((False, bug_of(name)), (True, twin_of(name))):
        assert told.promises == (PLANTED[name].PROMISE,)
        assert play(told, 1).journal == played(name, unharmed, 1, mended=mended).journal
