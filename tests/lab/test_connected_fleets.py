"""Fleets of a lab that runs in another process: at the server on a virtual clock, from here on a running one."""

from __future__ import annotations

import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pandas
import pytest

from labkit import (
    Behaviour,
    Counter,
    Flaky,
    Flat,
    Lab,
    LabError,
    LabWarning,
    Replay,
    Sensor,
    Thermostat,
)
from labkit.core.errors import OwnProcessError, TakenError
from labkit.lab.fleet import Fleet
from tests.guard import PATIENCE
from tests.lab.conftest import Serve, connected

pytestmark = pytest.mark.xdist_group("served")
Auth = Literal["token", "password", "certificate"]
RESOURCES = {"temperature": "number", "humidity": "number", "count": "number", "gauge": "number"}


class Own(Behaviour):
    """Behaviour that no server knows."""

    every: float = 0.05

    async def run(self, device: Any) -> None:
        while True:
            await device.write(temperature=1)
            await device.sleep(self.every)


class Greedy(Thermostat):
    """Behaviour that a server knows the base of."""


@pytest.fixture
def lab(served_lab: Lab) -> Lab:
    return served_lab


@pytest.fixture
def live(serve: Serve) -> Iterator[Lab]:
    with connected(serve("--control")) as lab:
        yield lab


def meters(lab: Lab, count: int = 3, auth: Auth = "token") -> Fleet:
    return lab.product("meter", auth=auth, resources=RESOURCES).fleet(count, Thermostat(every=60))


def results(lab: Lab) -> list[Any]:
    """Return the results of three runs with several kinds of devices, and the journal."""
    product = lab.product("meter", resources=RESOURCES)
    acme = lab.solution("acme", products=product)
    acme.on("device", "datapoint", lua="return data.value[2]")
    fleet = product.fleet({Thermostat(every=60): 2, Sensor: 2, Flaky: 2, Counter: 2}, seed=3)
    fleet.faults.add("drop before", every=10, name="lost", actions="write")
    fleet.faults.add("platform restart", after=600, seconds=30)
    found: list[Any] = []
    options: list[dict[str, Any]] = [{"requests": True, "accounts": acme}, {"devices": Flat(3)}]
    for each in options:
        run = fleet.run(minutes=30, **each)
        found += [run.summary, repr(run), run.frame(), run.failures, run.devices(), run.marks, run.rate]
        found += [run.latency, run.began, run.error, repr(fleet.faults), run.totals]
    found += [fleet.repeat(fleet.identities[4]).run(hours=1).devices()]
    return [*found, lab.journal.canonical(), lab.clock.time]


def shown(value: Any) -> str:
    return repr((value.to_dict(), value.attrs) if isinstance(value, pandas.DataFrame) else value)


def test_runs_are_those_of_a_lab_in_this_process(lab: Lab) -> None:
    with Lab(seed=7) as own:
        expected = results(own)
    assert "errors" in expected[0]
    assert [shown(each) for each in results(lab)] == [shown(each) for each in expected]


@pytest.mark.parametrize("auth", ["password", "certificate"])
def test_devices_have_their_credentials_in_every_run(lab: Lab, auth: Auth) -> None:
    fleet = meters(lab, 2, auth)
    assert fleet.run(minutes=5).summary == "2 devices, 5 min of lab time, 10 requests"
    assert fleet.run(minutes=5).summary == "2 devices, 5 min of lab time, 10 requests"
    assert fleet.run(seconds=1).devices().epoch.tolist() == [3, 3]


def test_a_run_is_followed_paused_and_stopped(lab: Lab) -> None:
    fleet = meters(lab)
    run = fleet.start(days=3000, every=3600)
    reached = threading.Event()
    run.on_tick(lambda tick: reached.set())
    assert reached.wait(PATIENCE)
    run.pause()
    assert run.paused
    ticks = len(run.ticks)
    assert run.devices().epoch.tolist() == [1, 1, 1]
    with pytest.raises(TakenError, match="runs already"):
        fleet.start(hours=1)
    run.resume()
    run.stop()
    assert run.done
    assert len(run.ticks) >= ticks > 0
    assert run.error is None
    assert lab._runtime.run(lab._runtime.control.fleets.all) == []
    assert fleet.run(hours=1).done


def test_a_stop_before_the_run_has_begun_ends_it(lab: Lab) -> None:
    run = meters(lab).start(days=3000)
    run.stop()
    assert run.done


def test_closing_the_connection_ends_its_runs(serve: Serve) -> None:
    ready = serve("--control", "--seed", "7")
    with connected(ready) as lab, connected(ready) as other:
        run = meters(other).start(days=3000)
        other.close()
        assert run.done
        lab.clock.advance(1)  # nothing drives it any more


def test_behaviours_of_a_cell_need_the_own_process(lab: Lab) -> None:
    product = lab.product("meter", resources=RESOURCES)
    table = pandas.DataFrame({"temperature": [1.0]}, index=[1.0])
    for behaviour, name in ((Own, "Own"), (Greedy, "Greedy"), (Replay(table=table), "Replay")):
        fleet = product.fleet(1, behaviour)
        with pytest.raises(OwnProcessError, match=rf"^{name}: .* needs? the lab's own process") as error:
            fleet.run(hours=1)
        assert "Lab(…)" in str(error.value)
        assert not re.search(r"fleet_runs|plays|prepare|Control", str(error.value))
        assert fleet.last is None
    assert product.fleet(1, Thermostat).run(hours=1).done  # the same device, which is free


def test_devices_of_a_lab_elsewhere_start_anew_and_keep_their_last_notes(lab: Lab) -> None:
    """A lab elsewhere overlaps as one here does."""
    fleet = meters(lab)
    with pytest.raises(
        OwnProcessError, match="anew=False: on a virtual clock the devices of a lab elsewhere run"
    ):
        fleet.run(minutes=1, anew=False)
    lab.overlap(calls=0.5, in_step=60, order="random")
    run = fleet.run(minutes=5, check=True)
    lab.overlap()
    with pytest.raises(LabError, match="this run keeps only the last notes"):
        run.notes()
    times = {each.time % 60 for each in lab.journal.writes(product="meter")[-9:]}
    assert times == {0}
    assert list(run.devices("target")["target"].isna()) == [True] * 3


def test_aliases_without_a_resource_are_named(lab: Lab, live: Lab) -> None:
    for each, options in ((lab, {"minutes": 1}), (live, {"seconds": 0.3})):
        product = each.product("meter", resources={"temperature": "number"})
        fleet = product.fleet(1, Thermostat(every=0.1, alias="temprature"))
        with pytest.warns(LabWarning, match="no resource 'temprature'.*did you mean temperature"):
            fleet.run(**options)


def test_arguments_are_refused_as_in_the_process(lab: Lab) -> None:
    def mistakes(lab: Lab) -> list[str]:
        fleet, found = meters(lab), []
        calls: list[Callable[[], object]] = [
            fleet.run,
            lambda: fleet.run(hours=1, workers=2),
            lambda: fleet.run(hours=1, accounts=lab.solution("acme")),
            lambda: fleet.run(hours=1).workers(),
            lambda: fleet.run(hours=1).requests(),
            lambda: fleet.run(hours=1).losses,
            lambda: fleet.start(hours=1).wait().scale_arrivals(2),
        ]
        with pytest.warns(LabWarning, match="is linked to no product"):
            lab.solution("acme").on("device", "datapoint", lua="return 1")
        for call in calls:
            with pytest.raises(LabError) as error:
                call()
            found.append(f"{error.type.__name__}: {error.value}")
        return found

    with Lab(seed=7) as own:
        expected = mistakes(own)
    assert mistakes(lab) == expected


def test_a_device_that_fails_fails_alone(lab: Lab) -> None:
    fleet = lab.product("meter", resources=RESOURCES).fleet(1, Flaky(every=60, breakdown=1.0))
    run = fleet.run(hours=1)
    assert [each.identity for each in run.failed] == fleet.identities
    assert run.summary.endswith("1 device failed")


def test_an_interrupt_ends_the_run_here_and_there(lab: Lab) -> None:
    fleet = meters(lab)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fleet.run(days=3000)
    assert fleet.last is not None
    assert fleet.last.done
    assert lab._runtime.run(lab._runtime.control.fleets.all) == []


def test_a_server_that_ends_ends_the_run(serve: Serve) -> None:
    ready = serve("--control", "--seed", "7")
    lab = connected(ready)
    run = meters(lab).start(days=3000, every=3600)
    reached = threading.Event()
    run.on_tick(lambda tick: reached.set())
    assert reached.wait(PATIENCE)
    ready["process"].kill()
    with pytest.raises(LabError, match=r"the lab at http://127.0.0.1:\d+ "):
        run.wait()
    assert "the lab at http" in str(run.error)
    assert run.devices().state.tolist() == ["waiting"] * 3
    lab.close()


def test_live_devices_speak_https_from_here(live: Lab) -> None:
    product = live.product("meter", resources=RESOURCES)
    fleet = product.fleet(2, Own)
    fleet.faults.add("platform restart", after=0.3, seconds=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = fleet.run(seconds=1)
    assert run.rate == 1
    assert len(run.ticks) > 0
    assert run.devices().behaviour.tolist() == ["Own", "Own"]
    assert live.sql("select count(distinct identity) as n from datapoint").n.tolist() == [2]
    assert [each.kind for each in run.marks] == ["restart"]
    assert abs(run.began - live.clock.time) < 60
    with pytest.raises(OwnProcessError, match="accounts: on a running clock"):
        fleet.run(seconds=1, accounts=True)


def test_live_devices_follow_the_rate_of_the_lab(live: Lab) -> None:
    fleet = live.product("meter", resources=RESOURCES).fleet(1, Own(every=600))
    run = fleet.start(hours=1)
    live.clock.freeze()
    live.clock.run(3600)
    run.wait()
    assert run.rate is None
    assert live.clock.time >= run.began + 3600


@pytest.mark.sampled
def test_live_devices_on_workers(live: Lab) -> None:
    run = live.product("meter", resources=RESOURCES).fleet(2, Own).run(seconds=1, workers=2)
    assert len(run.workers()) == 2
    assert run.ticks


def test_accounts_by_a_route_and_by_an_added_handler(lab: Lab) -> None:
    product = lab.product("meter", resources=RESOURCES)
    acme = lab.solution("acme", products=product)
    acme.route("GET", "/accounts", lua='return {["c-1"] = {1000000001}}')
    fleet = product.fleet(1, Counter, identities=["c-1"])
    run = fleet.run(minutes=2, accounts=acme)
    assert run.totals is not None
    assert (run.totals["sent"], run.totals["stored"], run.totals["handled"]) == (2, 2, 1)
    assert "as GET /accounts of 'acme' answers" in run.summary
    run = fleet.run(minutes=2, accounts=True)
    assert run.totals is not None
    assert (run.totals["sent"], run.totals["handled"], run.totals["lost"]) == (2, 2, 0)
