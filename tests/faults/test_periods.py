"""Faults with `after` and `seconds`: they begin and end at their own lab times, at every kind of place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labkit import Behaviour, DeviceError, Lab
from labkit.faults.periods import Periods
from labkit.fleet.fleet_device import FleetDevice
from labkit.settings import FaultSettings, LabSettings, build
from labkit.settings.overlay import add_faults
from tests.context import make_context

ALIAS = "/onep:v1/stack/alias"
HIT, MISSED = "hit", "missed"


def requested(lab: Lab) -> bool:
    device = lab.product("thermostat").device("t-1")
    return device.request("POST", ALIAS, data={"message": "x"}).status_code == 503


def called(lab: Lab) -> bool:
    return bool(lab.solution("acme").Keystore.get(key="é") == {"value": "!"})


def provided(lab: Lab) -> bool:
    return lab.browser().get(lab.provider("google").endpoints["userinfo"]).status_code == 500


SITES: list[tuple[str, dict[str, Any], Callable[[Lab], bool]]] = [
    (f"POST {ALIAS}", {"status": 503, "product": "thermostat"}, requested),
    ("Keystore.get", {"body": {"value": "!"}, "solution": "acme"}, called),
    ("provider google userinfo", {"does": "server error"}, provided),
]


@pytest.mark.parametrize(("where", "does", "is_hit"), SITES)
def test_a_fault_begins_and_ends_by_itself(
    lab: Lab, where: str, does: dict[str, Any], is_hit: Callable[[Lab], bool]
) -> None:
    lab.product("thermostat").device("t-1").activate()
    fault = lab.faults.add(where, **does, after=60, seconds=30)
    seen: list[tuple[float, bool, str]] = []
    for seconds in (0.0, 59.5, 0.5, 29.5, 0.5, 1000.0):
        lab.clock.advance(seconds)
        seen.append((seconds, is_hit(lab), fault.state))
    assert seen == [
        (0.0, False, "waiting"),
        (59.5, False, "waiting"),
        (0.5, True, "active"),
        (29.5, True, "active"),
        (0.5, False, "ended"),
        (1000.0, False, "ended"),
    ]
    assert (fault.hits, fault.seen) == (2, 2)
    assert "after 60 s, for 30 s" in repr(fault)


@pytest.mark.parametrize(
    ("fault", "arrive"),
    [
        ({"late": 40, "after": 5, "seconds": 10}, [("0", 0), ("2", 16), ("1", 48)]),
        ({"delay": 40, "seconds": 10}, [("0", 40), ("1", 80), ("2", 80)]),  # their lane is blocked
    ],
    ids=["late", "delay"],
)
def test_events_that_a_fault_has_delayed_arrive_after_its_end(
    lab: Lab, fault: dict[str, Any], arrive: list[tuple[str, int]]
) -> None:
    start, got = lab.clock.time, []

    def handle(data: Any, now: Any) -> None:
        got.append((data["value"][1], now() - start))

    lab.solution("acme").on("device", "datapoint", handle)
    device = lab.product("thermostat").device("t-1").activate()
    lab.faults.add("device datapoint", **fault)
    for number in range(3):
        device.write(message=str(number))
        lab.clock.advance(8)
    lab.clock.advance(100)
    assert got == arrive
    assert lab.faults["fault 1"].state == "ended"


async def test_outgoing_requests() -> None:
    context = make_context()
    clock = context.clock

    async def send(*_: object) -> tuple[int, str]:
        return 200, "own"

    fault = context.faults.add(
        build(FaultSettings, {"where": "https://api.example.com", "status": 503, "after": 1, "seconds": 2})
    )
    statuses = []
    for _ in range(4):
        outgoing = context.faults.outgoing
        answer = (
            (0, "")
            if outgoing is None
            else await outgoing.around("GET", "https://api.example.com", {}, None, send)
        )
        statuses.append(answer[0])
        await clock.advance(1)
    assert statuses == [0, 503, 503, 0]
    assert (fault.state, fault.hits) == ("ended", 2)


def test_a_restart_of_the_platform_does_not_move_a_period(lab: Lab) -> None:
    lab.product("thermostat").device("t-1").activate()
    lab.faults.add(f"POST {ALIAS}", status=503, after=60, seconds=30)
    lab.clock.advance(30)
    lab.restart(down=10)
    lab.clock.advance(30)
    assert requested(lab)
    lab.restart()
    lab.clock.advance(29)
    assert requested(lab)
    lab.clock.advance(1)
    assert not requested(lab)


def test_marks_show_when_it_begins_and_ends(lab: Lab) -> None:
    start = lab.clock.time
    lab.faults.add("GET /x", status=503, after=60, seconds=30, name="é <busy>")
    lab.faults.add("GET /y", status=503, seconds=5, name="short")
    lab.faults.add("GET /z", status=503, after=500, name="never began")
    lab.faults.remove("never began")
    lab.clock.advance(100)
    marks = [(each.time - start, each.text) for each in lab._runtime.control._platform.context.journal.marks]  # type: ignore[attr-defined]
    assert marks == [(0, "short"), (5, "short ends"), (60, "é <busy>"), (90, "é <busy> ends")]


def test_a_fault_that_was_removed_or_cleared_never_begins(lab: Lab) -> None:
    ends: list[Callable[[], None]] = [lab.faults.clear, lambda: lab.faults.remove("f"), lab.reset]
    for end in ends:
        lab.faults.add(f"POST {ALIAS}", status=503, after=60, name="f")
        end()
        lab.product("thermostat").device("t-1").activate()
        lab.clock.advance(100)
        assert not requested(lab)
        assert len(lab.faults) == 0


def test_counts_begin_with_the_period_and_first_ends_it_early(lab: Lab) -> None:
    lab.product("thermostat").device("t-1").activate()
    fault = lab.faults.add(f"POST {ALIAS}", status=503, every=2, first=2, after=10, seconds=100)
    hits = [requested(lab) for _ in range(3)]
    lab.clock.advance(10)
    hits += [requested(lab) for _ in range(5)]
    assert hits == [False] * 3 + [False, True, False, True, False]
    assert fault.state == "ended"
    lab.clock.advance(200)
    assert (fault.state, fault.hits, fault.seen) == ("ended", 2, 4)


def test_an_ended_fault_makes_space_for_others(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labkit.faults.faults.MAX_FAULTS", 2)
    lab.faults.add("GET /x", status=500, seconds=5, name="over")
    lab.faults.add("GET /x", status=500, after=5, name="waits")
    lab.clock.advance(5)
    lab.faults.add("GET /x", status=500, name="new")
    assert [each.name for each in lab.faults] == ["waits", "new"]


def test_of_lab_yaml_they_count_from_the_start_and_from_a_reset(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "products: [{id: thermostat, resources: {message: {format: string}}}]\n"
        "faults: [{where: POST /onep:v1/stack/alias, status: 503, after: 10, seconds: 5.5}]\n"
    )
    with Lab(seed=7, config=file) as lab:
        for _ in range(2):
            lab.product("thermostat").device("t-1").activate()
            seen = []
            for seconds in (9, 1, 5, 0.5):
                lab.clock.advance(seconds)
                seen.append(requested(lab))
            assert seen == [False, True, True, False]
            lab.clock.advance(0.25)
            lab.reset()


def test_at_a_terminal() -> None:
    values = add_faults({}, ["POST /x status=503 after=10 seconds=5.5"])
    [fault] = build(LabSettings, values).faults
    assert (fault.after, fault.seconds) == (10, 5.5)


class Writes(Behaviour):
    """Behaviour that writes each minute, whatever the answer."""

    async def run(self, device: FleetDevice) -> None:
        refused: list[tuple[int, float]] = []
        while True:
            try:
                await device.write(message="x")
            except DeviceError as error:
                refused.append((error.status, device.now()))
                device.note(refused=refused)
            await device.sleep(60)


def test_in_the_run_of_a_fleet_and_again_byte_for_byte() -> None:
    def play() -> tuple[str, Any]:
        with Lab(seed=7) as lab:
            product = lab.product("thermostat", resources={"message": "string"})
            start = lab.clock.time
            lab.faults.add(f"POST {ALIAS}", status=503, after=600, seconds=120)
            run = product.fleet(3, Writes()).run(hours=1)
            refused = [[(status, when - start) for status, when in each] for each in run.devices()["refused"]]
            return lab.journal.canonical(), refused

    first = play()
    assert first[1] == [[(503, 600), (503, 660)]] * 3
    assert first == play()


async def test_on_a_running_clock() -> None:
    context = make_context()
    clock = context.clock
    clock.run(1e6)
    fault = context.faults.add(build(FaultSettings, {"where": "GET /x", "status": 500, "seconds": 1000}))
    await clock.sleep_until(clock.now() + 2000)
    assert fault.state == "ended"
    assert context.faults.requests is None


def test_a_reload_keeps_the_periods_of_faults_that_stay() -> None:
    def settings(*names: str) -> list[dict[str, Any]]:
        return [
            {"where": "GET /x", "status": 500, "name": name, "after": 10, "seconds": 10} for name in names
        ]

    with Lab(seed=7, faults=settings("stays", "goes")) as lab:
        faults = lab._runtime.control._platform.context.faults  # type: ignore[attr-defined]
        lab.clock.advance(5)

        async def configure(*names: str) -> None:
            faults.configure(build(FaultSettings, each) for each in settings(*names))

        lab._runtime.run(configure, "stays", "comes")
        lab.clock.advance(5)
        assert [(each.name, each.state) for each in lab.faults] == [("stays", "active"), ("comes", "waiting")]
        lab.clock.advance(10)
        assert [(each.name, each.state) for each in lab.faults] == [("stays", "ended"), ("comes", "active")]


async def test_a_period_that_was_stopped_calls_nothing() -> None:
    context = make_context()
    called: list[object] = []
    periods = Periods(context.clock, called.append, called.append)
    fault = context.faults.add(build(FaultSettings, {"where": "GET /x", "status": 500, "seconds": 5}))
    periods.start(fault)
    periods.stop(fault)
    periods.stop(fault)
    await context.clock.advance(10)
    assert called == []
