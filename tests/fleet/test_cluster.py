"""Fleets over worker processes: the same calls, behaviours defined in cells, merged measures, workers that die."""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pandas
import pytest
from distributed import Client, LocalCluster

from labkit import Behaviour, Lab
from labkit.core.errors import LabError
from labkit.fleet.measures import Tick
from labkit.fleet.shapes import Steps
from labkit.lab.run import Run
from tests.fleet.lives import ticks_of

pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.usefixtures("forked_workers"),
    pytest.mark.filterwarnings("ignore"),  # warnings of dask itself
]


class Counting(Behaviour):
    """Behaviour of this module, which a worker cannot import, so that it is sent by value."""

    every: float = 0.2
    most: int = 10_000

    async def run(self, device: Any) -> None:
        for _ in range(self.most):
            await device.count()
            await device.sleep(self.every)


class Failing(Behaviour):
    async def run(self, device: Any) -> None:
        await device.write(count=1)
        raise ValueError(f"{device.identity} {self.random.random():.6f}")


def over(run: Run) -> bool:
    return run.done


@pytest.fixture(scope="module")
def shared(forked_workers: None) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def client(shared: Client) -> Client:
    shared.wait_for_workers(2, timeout=60)  # the previous test may have killed one
    return shared


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(products=[{"id": "meter", "resources": {"count": "number"}}]) as lab:
        yield lab


@pytest.mark.sampled
def test_devices_are_partitioned_over_workers_and_their_measures_merged(lab: Lab, client: Client) -> None:
    fleet = lab.product("meter").fleet(7, Counting(every=0.05, most=10), seed=3)
    seen: list[Tick] = []
    run = fleet.start(seconds=60, every=0.5, accounts=True, cluster=client, requests=True)
    run.on_tick(seen.append)
    run.wait()
    assert run.latency.count == 70
    assert sum(tick.requests for tick in run.ticks) == 70
    assert len(run.requests()) == 70
    assert run.losses["handled"].tolist() == [10] * 7
    counted = r"70 sent, 70 acknowledged, \d+ stored, 70 handled: 0 lost, 0 doubled, 0 reordered"
    assert re.search(counted, run.summary)
    assert sorted(run.workers()["devices"]) == [3, 4]
    assert len({*run.workers()["pid"], os.getpid()}) == 3
    assert run.devices()["state"].tolist() == ["ended"] * 7
    assert [tick.time for tick in run.ticks] == sorted(tick.time for tick in run.ticks)
    assert seen == run.ticks
    assert run.timings()["cpu"] > 0
    assert 0 < run.timings()["p50"] <= run.timings()["max"]


def test_the_address_of_a_scheduler_selects_a_cluster(lab: Lab, client: Client) -> None:
    address = client.scheduler_info()["address"]
    fleet = lab.product("meter").fleet(4, Counting(every=0.05, most=5), seed=3)
    run = fleet.run(seconds=60, accounts=True, cluster=address)
    assert run.losses["handled"].tolist() == [5] * 4
    assert {each["pid"] for _, each in run.workers().iterrows()} == set(client.run(os.getpid).values())
    for wrong in ("nonsense://", "nowhere"):
        with pytest.raises(LabError, match=f"no scheduler at '{wrong}'"):
            fleet.run(seconds=1, cluster=wrong)
    begun = [each for each in gc.get_objects() if isinstance(each, Client) and each is not client]
    assert {each.status for each in begun} <= {"closed"}  # no run or process may remain


def test_a_run_has_ticks_and_can_be_paused_and_stopped(lab: Lab, client: Client) -> None:
    fleet = lab.product("meter").fleet(4, Counting(every=0.05))
    run = fleet.start(every=0.2, accounts=True, cluster=client)
    ticked, resumed = threading.Event(), threading.Event()
    run.on_tick(lambda tick: ticked.set() if tick.requests else None)
    assert ticked.wait(30)
    assert over(run) is False
    with pytest.raises(LabError, match="runs already"):
        fleet.run(seconds=1, cluster=client)
    run.pause()
    paused = threading.Event()
    run.on_tick(lambda tick: None if tick.requests else paused.set())
    assert paused.wait(30)
    run.on_tick(lambda tick: resumed.set() if tick.requests else None)
    run.resume()
    assert resumed.wait(30)
    run.stop()
    assert over(run)
    assert run.losses["lost"].sum() == 0
    again = fleet.run(seconds=1, accounts=True, cluster=client)
    assert {epoch for _, epoch in again.losses.index} == {2}


def test_a_failing_behaviour_has_its_seed_and_the_other_devices_continue(lab: Lab, client: Client) -> None:
    behaviours = {Failing: 1, Counting(every=0.01, most=3): 3}
    run = lab.product("meter").fleet(behaviour=behaviours, seed=11).run(seconds=60, cluster=client)
    here = lab.product("meter").fleet(behaviour=behaviours, seed=11, prefix="m-").run(seconds=60)
    assert run.failures["error"].tolist() == here.failures["error"].tolist()
    assert run.failures["seed"].tolist() == [11]
    assert run.latency.count == 10


def test_a_shape_of_devices_applies_to_all_workers_together(lab: Lab, client: Client) -> None:
    fleet = lab.product("meter").fleet(6, Counting(every=0.05))
    run = fleet.run(seconds=1.6, every=0.2, devices=Steps({0: 3}), cluster=client)
    waiting = [tick.devices.get("waiting", 0) for tick in run.ticks if tick.requests]
    assert waiting[1:-1]
    assert set(waiting[1:-1]) == {3}


def test_a_worker_that_dies_is_reported_and_its_devices_continue_in_a_new_epoch(
    lab: Lab, client: Client
) -> None:
    fleet = lab.product("meter").fleet(6, Counting(every=0.1))
    run = fleet.start(every=0.2, accounts=True, cluster=client)
    ticks = ticks_of(run)
    while ticks.get(timeout=30).requests < 4:
        pass
    victim = run.workers().iloc[0]
    before = run.losses["sent"].sum()
    os.kill(int(victim["pid"]), signal.SIGKILL)
    handled: list[int] = []
    while len(handled) < 3 or not all(handled):  # one of each of the three, in its new epoch
        ticks.get(timeout=60)
        handled = run.losses.query("epoch == 2")["handled"].tolist()
    run.stop()
    losses = run.losses
    epochs = losses.reset_index().groupby("identity")["epoch"].max()
    assert sorted(epochs) == [1, 1, 1, 2, 2, 2]
    assert losses["sent"].sum() > before
    assert (losses.xs(2, level="epoch")["handled"] > 0).all()
    assert losses[["lost", "doubled", "reordered", "unknown"]].to_numpy().sum() == 0
    dead = run.workers().dropna(subset="died")
    assert dead["pid"].tolist() == [victim["pid"]]
    assert f"worker {victim['pid']} died, its 3 devices went on elsewhere in epoch 2" in run.summary
    assert sum(tick.requests for tick in run.ticks) == run.latency.count


def test_ended_and_failed_devices_do_not_restart_when_their_worker_dies(lab: Lab, client: Client) -> None:
    behaviours = {Counting(every=0.1): 2, Counting(every=0.1, most=3): 2, Failing: 2}
    run = lab.product("meter").fleet(behaviour=behaviours).start(every=0.05, accounts=True, cluster=client)
    ticks = ticks_of(run)
    while (devices := ticks.get(timeout=30).devices).get("ended") != 2 or devices.get("failed") != 2:
        pass
    [victim, _] = run.workers()["pid"]
    os.kill(int(victim), signal.SIGKILL)
    while 2 not in run.devices()["epoch"].tolist():
        ticks.get(timeout=60)
    run.stop()
    assert run.devices()["epoch"].tolist() == [2, 1, 1, 1, 1, 1]
    assert run.devices()["state"].tolist()[2:] == ["ended", "ended", "failed", "failed"]
    assert len(run.failures) == 2
    assert run.losses["handled"].unstack("epoch")[1].tolist()[2:] == [3, 3]
    assert f"worker {victim} died, its 1 device went on" in run.summary
    assert all(sum(tick.devices.values()) == 6 for tick in run.ticks)
    ended = [tick.devices.get("ended", 0) for tick in run.ticks]
    assert (ended[-1], ended) == (2, sorted(ended))


def wait_for_ticks(run: Run, count: int) -> None:
    """Wait until the run has counted requests in a number of ticks."""
    ticks = ticks_of(run)
    while count:
        count -= bool(ticks.get(timeout=60).requests)


def test_a_worker_that_the_client_does_not_know_is_not_dead(
    lab: Lab, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    update: Any = client._update_scheduler_info

    async def overwritten(n_workers: int = 0) -> None:
        await update(n_workers)
        await update()  # as its periodic callback sometimes does between an answer and its use

    monkeypatch.setattr(client, "_update_scheduler_info", overwritten)
    run = lab.product("meter").fleet(4, Counting(every=0.05)).start(every=0.2, cluster=client)
    wait_for_ticks(run, 8)
    run.stop()
    assert run.workers()["died"].isna().all()
    assert len(run.workers()) == 2
    assert run.devices()["epoch"].tolist() == [1] * 4


def test_a_worker_missing_in_one_answer_of_the_scheduler_is_not_dead(
    lab: Lab, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler: Any = client.scheduler
    identity = scheduler.identity
    lacking: list[bool] = []

    async def every_second(n_workers: int) -> Any:
        answer = await identity(n_workers=n_workers)
        if not n_workers:  # calls of the client's own callback
            return answer
        lacking.append(bool(lacking) and not lacking[-1])  # not the first, which counts the workers
        return {**answer, "workers": {}} if lacking[-1] else answer

    monkeypatch.setattr(scheduler, "identity", every_second, raising=False)
    run = lab.product("meter").fleet(4, Counting(every=0.05)).start(every=0.2, cluster=client)
    wait_for_ticks(run, 8)
    run.stop()
    assert sum(lacking) > 2
    assert run.workers()["died"].isna().all()
    assert run.devices()["epoch"].tolist() == [1] * 4


class Notes(Behaviour):
    async def run(self, device: Any) -> None:
        class Own:
            def __repr__(self) -> str:
                return "<my own>"

        class Mute:
            def __repr__(self) -> str:
                raise ValueError

        points = [1.5]
        device.note(lock=Own(), mute=Mute(), points=points, table=pandas.DataFrame({"a": [1]}), plain=7)
        await device.sleep(1.2)
        points.append(2.5)
        await device.sleep(0.2)


def test_notes_of_any_type_are_sent_back_or_as_text(lab: Lab, client: Client) -> None:
    run = lab.product("meter").fleet(2, Notes).run(seconds=30, every=0.5, cluster=client)
    assert run.failures.empty
    for shown in run.devices().to_dict("records"):
        assert (shown["lock"], shown["mute"]) == ("<my own>", "<its text cannot be made>")
        assert (shown["points"], shown["plain"], shown["state"]) == ([1.5, 2.5], 7, "ended")
        assert shown["table"].equals(pandas.DataFrame({"a": [1]}))


def test_the_hits_of_device_faults_are_sent_back(lab: Lab, client: Client) -> None:
    fleet = lab.product("meter").fleet(4, Counting(every=0.01, most=10))
    fleet.faults.add("duplicate send", every=5, devices=[1, 2, 3])
    fleet.faults.add("delay", first=1, seconds=0.1)
    run = fleet.run(seconds=30, every=0.2, accounts=True, cluster=client)
    assert fleet.faults.frame()[["seen", "hits"]].to_numpy().tolist() == [[30, 6], [4, 4]]
    assert run.losses["doubled"].tolist() == [2, 2, 2, 0]


class Bursts(Behaviour):
    """Behaviour that writes ten times in the middle of the second interval of a run."""

    at: float

    async def run(self, device: Any) -> None:
        await device.sleep_until(self.at)
        device.note(wrote=device.now())  # at once, unless the machine is busy
        for _ in range(10):
            await device.write(count=1)
        await device.sleep(10)


def test_a_row_has_the_events_of_its_interval(lab: Lab, client: Client) -> None:
    """Intervals shorter and longer than the ones in which workers report."""
    runs = []
    for every in (0.6, 2.0):
        at = lab.clock.time + 1.5 * every
        fleet = lab.product("meter").fleet(2, Bursts(at=at), prefix=f"{every}-")
        runs.append((every, fleet.start(seconds=3.1 * every, every=every, cluster=client)))
    for every, run in runs:
        run.wait()
        half = min(every, 1.0) / 2  # reported by workers at one time
        for when in run.devices()["wrote"]:
            near = [tick.requests for tick in run.ticks if when - half <= tick.time < when + every + half]
            assert 10 <= sum(near) <= 20
        assert sum(tick.requests for tick in run.ticks) == 20
        times = [run.began, *(tick.time for tick in run.ticks)]
        assert all(later > before for before, later in pairwise(times))


def test_the_death_of_a_worker_while_a_run_stops_is_reported(lab: Lab) -> None:
    fleet = lab.product("meter").fleet(4, Counting(every=0.1))
    run = fleet.start(every=0.2, workers=2)  # its own cluster, which takes long to recover
    ticks = ticks_of(run)
    while not ticks.get(timeout=30).requests:
        pass
    victim = run.workers().iloc[0]["pid"]
    os.kill(int(victim), signal.SIGSTOP)  # so that the client is not notified of the end
    lab._runtime.run(run._fleet_run.command, "stop")  # `stop` would wait for this process
    os.kill(int(victim), signal.SIGKILL)
    run.wait()
    assert run.summary.endswith(f"worker {victim} died")


def test_requests_of_workers_are_in_order_of_time(lab: Lab, client: Client) -> None:
    fleet = lab.product("meter").fleet(6, Counting(every=0.02, most=20))
    run = fleet.run(seconds=30, every=0.1, requests=True, cluster=client)
    assert len(run.requests()) == 120
    assert run.requests()["time"].is_monotonic_increasing
    assert run.frame().index.is_monotonic_increasing


def test_the_start_of_own_workers_does_not_count_as_run_time(lab: Lab) -> None:
    fleet = lab.product("meter").fleet(4, Counting(every=0.05))
    run = fleet.run(seconds=1.5, every=0.25, workers=2, accounts=True)
    assert run.latency.count >= 8
    assert run.ticks[-1].time - run.began == pytest.approx(1.5, abs=0.3)
    assert run.losses["handled"].tolist() == run.losses["sent"].tolist()
    assert len(run.losses) == 4
    for pid in run.workers()["pid"]:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_workers_on_a_virtual_clock_are_an_error_with_the_reason() -> None:
    with Lab(seed=7, products=[{"id": "meter", "resources": {"count": "number"}}]) as lab:
        fleet = lab.product("meter").fleet(2, Counting)
        with pytest.raises(
            LabError, match=r"workers=: on a virtual clock one device runs at a time.*speed=1"
        ):
            fleet.run(hours=1, workers=2)
        with pytest.raises(LabError, match="cluster=: on a virtual clock"):
            fleet.run(hours=1, cluster="tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"workers": 0}, "workers: expected a number of processes, not 0"),
        ({"workers": True}, "workers: expected a number"),
        ({"workers": 1, "cluster": "x"}, "not both"),
        ({"cluster": 7}, "cluster: expected a dask Client"),
    ],
)
def test_invalid_workers_are_an_error(lab: Lab, arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(LabError, match=named):
        lab.product("meter").fleet(1, Counting).run(seconds=1, **arguments)


def test_a_behaviour_that_cannot_be_pickled_is_an_error_and_the_fleet_can_run_again(
    lab: Lab, client: Client
) -> None:
    class Locked(Counting):
        lock: Any = None

    fleet = lab.product("meter").fleet(1, Locked(lock=threading.Lock(), most=1, every=0))
    with pytest.raises(LabError, match="cannot travel to another process"):
        fleet.run(seconds=1, cluster=client)
    assert fleet.run(seconds=5).latency.count == 1
