"""Stories: requests, calls and waits of a cell act while fleets run, in one order that the seed fixes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from labkit import Behaviour, Lab, LabError, LabStory, PendingCall, TakenError
from labkit.fleet.fleet_device import FleetDevice
from labkit.lab.fleet import Fleet
from labkit.lab.run import Run
from labkit.labtime.clock import VIRTUAL_START
from tests.fleet import story
from tests.lab.story_parts import Reports, counting, elapsed, product_of


def test_a_story_that_only_waits_changes_nothing_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """All faults of fleet and platform, restarts, polls and handlers: the same journal and results, byte for byte."""
    alone = story.digests(story.story_results(hours=1))

    def run_in_story(self: Fleet, **arguments: Any) -> Run:
        with LabStory(self._runtime):
            return self.start(**arguments).wait()

    monkeypatch.setattr(Fleet, "run", run_in_story)
    assert story.digests(story.story_results(hours=1)) == alone


def test_two_runs_in_one_story_that_start_anew_are_two_runs(lab: Lab) -> None:
    fleet = product_of(lab).fleet(10, Reports)
    fleet.run(minutes=10)
    fleet.run(minutes=10)
    with Lab(seed=7) as other:
        again = product_of(other).fleet(10, Reports)
        with other.story():
            again.start(minutes=10, anew=True).wait()
            again.run(minutes=10, anew=True)
        assert other.journal.canonical() == lab.journal.canonical()


def test_people_act_while_a_fleet_runs(lab: Lab) -> None:
    product = product_of(lab)
    solution = counting(lab, product)
    lab.faults.add("Keystore.get", delay=5)
    fleet = product.fleet(5, Reports)
    seen = []
    with lab.story():
        run = fleet.start(minutes=10)
        for _ in range(3):
            lab.wait(seconds=60)
            seen.append((elapsed(lab), solution.get("/count").json(), elapsed(lab)))
        run.wait()
        assert elapsed(lab) == 600
    times = [(began, ended) for began, _, ended in seen]
    assert times == [(60, 65), (125, 130), (190, 195)]  # each request took the time of its service call
    counts = [int(found["value"]) for _, found, _ in seen]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] < 50
    assert len(run.failed) == 0


def test_a_call_takes_lab_time_and_needs_no_fleet(lab: Lab) -> None:
    solution = counting(lab, product_of(lab))
    lab.faults.add("Keystore.*", delay=7)
    with lab.story():
        solution.Keystore.set(key="a", value="1")
        assert solution.Keystore.get(key="a") == {"value": "1"}
        assert elapsed(lab) == 14
        lab.clock.advance(minutes=1)
        lab.clock.advance_to(lab.clock.time + 6)
        assert elapsed(lab) == 80
        lab.wait()
        assert elapsed(lab) == 80


def test_a_poll_ends_by_time_and_by_a_write(lab: Lab) -> None:
    product = product_of(lab)
    device = product.device("d").activate()
    with lab.story():
        assert device.poll("config", timeout=30) is None
        assert elapsed(lab) == 30
        lab.at(10, lambda: device.write(config="new"))
        assert (device.poll("config", timeout=30), elapsed(lab)) == ("new", 40)
        held = device.start_poll("config", timeout=30)
        assert not held.done
        assert (held.result(), elapsed(lab)) == (None, 70)
        held = device.start_poll("config", timeout=30)
        device.write(config="newer")
        assert (held.result(), elapsed(lab)) == ("newer", 70)
        answer = device.request("GET", "/onep:v1/stack/alias?config", headers={"Request-Timeout": "5000"})
        assert (answer.status_code, elapsed(lab)) == (304, 75)


def test_functions_for_later_run_at_their_times_beside_the_story(lab: Lab) -> None:
    seen = []

    def note(text: str) -> Callable[[], None]:
        return lambda: seen.append((text, elapsed(lab)))

    def long() -> None:
        lab.wait(seconds=100)
        note("long")()

    with lab.story():
        lab.at(20, note("20"))
        lab.at(10, long)
        lab.at(datetime.fromtimestamp(VIRTUAL_START + 30, UTC), note("datetime"))
        lab.at(500, note("never"))
        lab.wait(seconds=5)
        note("story")()
        call = lab.begin(lab.wait, seconds=50)
        assert call.done is False
        assert call.result() is None
        note("begun")()
        lab.wait(minutes=1)
    assert seen == [
        ("story", 5),
        ("20", 20),
        ("datetime", 30),
        ("begun", 55),
        ("long", 110),
    ]


def test_a_handler_asks_a_route_whose_service_call_is_delayed(lab: Lab) -> None:
    product = product_of(lab)
    solution = counting(lab, product)
    other = lab.solution("other", products=[product])
    seen: list[tuple[object, float]] = []

    def ask(data: Any) -> None:
        seen.append((solution.get("/count").status_code, elapsed(lab)))

    other.on("device", "datapoint", ask)

    lab.faults.add("Keystore.get", delay=40)
    with lab.story():
        product.device("d").activate().write(temperature=20)
        lab.wait(minutes=5)
    assert seen == [(200, 40)]


def test_a_service_may_take_lab_time(lab: Lab) -> None:
    solution = lab.solution("app")

    def measure(seconds: float) -> float:
        lab.wait(seconds=seconds)
        return elapsed(lab)

    lab.service("Slow", measure=measure)

    def slow(services: Any) -> object:
        return services.Slow.measure(seconds=20)

    solution.route("GET", "/slow", slow)

    with lab.story():
        assert solution.Slow.measure(seconds=10) == 10
        assert solution.get("/slow").json() == 30


def test_a_wait_that_nothing_can_end_is_refused(lab: Lab) -> None:
    with lab.story():
        run = product_of(lab).fleet(1, Reports).start(seconds=10)
        call = lab.begin(run.wait)
        call.result()
        calls: list[PendingCall[None]] = []
        calls.append(lab.begin(lambda: calls[0].result()))  # noqa: PLW0108  it is not there yet
        with pytest.raises(LabError, match="nothing is due"):
            calls[0].result()
        lab.wait(seconds=1)


def test_other_threads_are_refused(lab: Lab) -> None:
    errors: list[Exception] = []

    def act() -> None:
        try:
            lab.clock.advance(1)
        except LabError as error:
            errors.append(error)

    with lab.story():
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()
    assert "a story runs in one thread" in str(errors[0])


def test_what_a_story_does_not_have_is_refused(lab: Lab) -> None:
    fleet = product_of(lab).fleet(2, Reports)
    waits: tuple[Callable[[], None], ...] = (lambda: lab.wait(seconds=1), lambda: lab.at(1, lab.settle))
    for wait in waits:
        with pytest.raises(LabError, match="needs a story"):
            wait()
    with lab.story():
        with pytest.raises(TakenError, match="already"), lab.story():
            pass
        with pytest.raises(LabError, match="a story moves this clock"):
            lab.reset()
        with pytest.raises(LabError, match=r"before close\(\)"):
            lab.close()
        run = fleet.start(seconds=10)
        with pytest.raises(LabError, match="cannot pause"):
            run.pause()
        assert not run.paused
        for wrong, text in ((-1, "0 or more"), ("soon", "seconds from now"), (float("nan"), "seconds from")):
            with pytest.raises(LabError, match=text):
                lab.at(wrong, lab.settle)  # type: ignore[arg-type]
        with pytest.raises(LabError, match="a function without arguments"):
            lab.at(1, 3)  # type: ignore[arg-type]
        with pytest.raises(LabError, match="cannot go back"):
            lab.at(datetime(2025, 1, 1, tzinfo=UTC), lab.settle)
        with pytest.raises(LabError, match="cannot go back"):
            lab.wait(seconds=-1)
        run.wait()
    with Lab() as running, pytest.raises(LabError, match="needs a virtual clock"), running.story():
        pass


def test_a_run_can_be_checked_for_failed_devices(lab: Lab) -> None:
    class Fails(Behaviour):
        """Behaviour that fails after a minute."""

        async def run(self, device: FleetDevice) -> None:
            await device.sleep(60)
            raise ValueError(f"no {device.identity}")

    fleet = product_of(lab).fleet({Reports: 2, Fails: 3})
    text = r"3 of 5 devices failed, 't-00[345]' first: ValueError: no t-00"
    with pytest.raises(LabError, match=text):
        fleet.run(minutes=5, check=True)
    assert len(fleet.run(minutes=5).failed) == 3
    with lab.story(), pytest.raises(LabError, match=text):
        fleet.start(minutes=5).wait(check=True)
    assert product_of(lab).fleet(2, Reports, prefix="o-").run(minutes=1, check=True).failed == []


@pytest.mark.parametrize("told", [True, False])
def test_a_fault_delays_requests_whose_credential_is_lost(lab: Lab, told: bool) -> None:
    """They act as the product, since the platform does not know whose they are."""
    product, other = product_of(lab), product_of(lab, "lamp")
    fleet, twins = product.fleet(3, Reports, prefix="d"), other.fleet(3, Reports, prefix="d")
    fleet.faults.add("lost credential", after=120, devices="d001")
    lab.faults.add("POST /onep:v1/stack/alias", delay=2, when="after", product=product.id)
    if told:
        with lab.story():
            run = fleet.start(minutes=5, requests=True)
            twins.run(minutes=5)
            run.wait()
    else:
        run = fleet.run(minutes=5, requests=True)
    requests = run.requests()
    refused = requests[requests["status"] == 401]
    assert set(refused["identity"]) == {fleet.identities[0]}
    assert len(refused) >= 2
    assert set(requests["status"]) == {204, 401}
