"""Errors and ends of stories, with the fleets and threads that still run then."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

import pytest

from labkit import DeviceError, Lab, LabError, PendingCall
from labkit.lab.fleet import Fleet
from labkit.labtime.clock import VIRTUAL_START
from tests.lab.story_parts import Listens, Reports, counting, elapsed, product_of


def test_an_error_of_a_function_for_later_ends_the_wait(lab: Lab) -> None:
    def fail() -> None:
        raise ValueError("no")

    with lab.story():
        lab.at(10, fail)
        with pytest.raises(ValueError, match="no"):
            lab.wait(seconds=3000)
        assert elapsed(lab) == 10
        lab.wait(seconds=1)
    assert list(lab.journal.frame()["kind"]).count("error") == 1


def test_an_error_of_a_function_for_later_does_not_cut_a_request(lab: Lab) -> None:
    solution = counting(lab, product_of(lab))
    lab.faults.add("Keystore.get", delay=60)

    def fail() -> None:
        raise ValueError("no")

    with lab.story():
        lab.at(10, fail)
        lab.at(20, fail)
        with pytest.raises(ValueError, match="no") as raised:
            solution.get("/count")
        assert elapsed(lab) == 60
    assert raised.value.__notes__ == ["and after that ValueError: no"]


def test_an_error_that_no_call_raised_is_raised_at_the_end(lab: Lab) -> None:
    device = product_of(lab).device("d").activate()
    lab.faults.add("POST /onep:v1/stack/alias", delay=5, status=503)

    def fail() -> None:
        raise ValueError("no")

    def play() -> PendingCall[None]:
        with lab.story():
            lab.at(1, fail)
            with pytest.raises(DeviceError, match="503"):
                device.write(temperature=20)
            return lab.begin(lab.wait, seconds=1)

    with pytest.raises(ValueError, match="no"):
        play()
    assert elapsed(lab) == 5
    lab.clock.advance(seconds=1)  # the clock is free again


def test_a_call_that_never_began_ends_with_the_story(lab: Lab) -> None:
    with lab.story():
        call = lab.begin(lab.wait, seconds=1)
    with pytest.raises(LabError, match="the story is over"):
        call.result()


def test_the_end_of_a_story_ends_its_fleets_and_threads(lab: Lab) -> None:
    product = product_of(lab)
    device = product.device("d").activate()
    ended: list[str] = []

    def waits() -> None:
        try:
            lab.wait(days=1)
        except LabError as error:
            ended.append(str(error))
            raise

    with suppress(ZeroDivisionError), lab.story():
        run = product.fleet({Reports: 3, Listens: 2}).start(hours=5)
        lab.at(1, waits)
        lab.at(3000, waits)
        poll = device.start_poll("config", timeout=300)
        lab.wait(seconds=100)
        _ = 1 / 0
    assert (run.done, elapsed(lab), ended) == (True, 100, ["the story is over"])
    with pytest.raises(LabError, match="the story is over"):
        poll.result()
    lab.clock.advance(hours=2)
    product.fleet(5, Reports, prefix="o-").run(minutes=1)
    assert ended == ["the story is over"]


def test_a_fleet_that_ends_leaves_the_story_going_on(lab: Lab) -> None:
    product = product_of(lab)
    solution = counting(lab, product)
    lab.faults.add("Keystore.get", delay=500)
    with lab.story():
        run = product.fleet(2, Listens).start(seconds=100)
        lab.wait(seconds=50)
        assert solution.get("/count").status_code == 200
        assert (elapsed(lab), run.done) == (550, True)
        assert run.wait().frame().index[-1].timestamp() == VIRTUAL_START + 100


def test_a_restart_of_the_platform_while_fleets_run(lab: Lab) -> None:
    product = product_of(lab)
    fleet = product.fleet({Reports: 5, Listens: 5})
    with lab.story():
        run = fleet.start(minutes=10, requests=True)
        lab.wait(seconds=90)
        lab.restart(down=5)
        lab.wait(seconds=90)
    assert [mark.kind for mark in run.marks] == ["restart"]
    assert run.requests()["error"].dropna().tolist() == ["no answer"] * 5


def test_an_interrupt_ends_the_story_and_frees_the_clock(lab: Lab) -> None:
    fleet = product_of(lab).fleet(3, Reports)

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), lab.story():
        run_with_interrupt(fleet, lab, interrupt)
    assert 100 <= elapsed(lab) < 86400
    lab.clock.advance(seconds=1)
    fleet.run(seconds=1)


def run_with_interrupt(fleet: Fleet, lab: Lab, interrupt: Callable[[], None]) -> None:
    fleet.start(days=1)
    lab.at(100, interrupt)
    lab.wait(days=1)
