"""Settling during delays: work that waits for a delay is not pending, and the clock can be advanced."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

import httpx
import pytest

from labkit import Behaviour, Lab
from labkit.faults import AWAITED
from labkit.faults.awaited import AwaitedAnswers
from labkit.faults.runs import DelayedRuns
from labkit.fleet.fleet_device import FleetDevice
from labkit.labtime.activity import Activity
from labkit.labtime.holding import Holding
from tests.guard import PATIENCE

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab(seed=7, guard={"scripts": 2}) as lab:
        yield lab


def settled(lab: Lab) -> None:
    """Settle the lab. Raises TimeoutError if it does not settle."""

    async def settle() -> None:
        async with asyncio.timeout(PATIENCE):
            await lab._runtime.control.lab.settle()

    lab._runtime.run(settle)


@pytest.mark.parametrize("delayed", [1, 2, 3])
def test_handlers_of_several_subscribers(lab: Lab, delayed: int) -> None:
    lights = lab.solution("lights")
    lights.publish(events=[{"name": "changed"}])
    homes = [lab.solution(f"home{number}") for number in range(3)]
    for number, home in enumerate(homes):
        home.subscribe("lights")
        home.on("lights", "changed", lua='Keystore.set({key = "seen", value = "yes"}) return {seen = 1}')
        if number < delayed:
            lab.faults.add("Keystore.set", delay=5 + number, solution=home.id)
    lights.route("GET", "/all", lua='return Interface.trigger({event = "changed", mode = "sync"})')
    begun = lab.begin(lights.get, "/all")
    settled(lab)
    assert not begun.done
    for number in range(delayed):
        lab.clock.advance(5 if not number else 1)
        settled(lab)
    assert [each["status"] for each in begun.result().json()] == [200] * 3
    assert [home.Keystore.get(key="seen") for home in homes] == [{"value": "yes"}] * 3
    settled(lab)


def test_more_delayed_runs_than_may_be_concurrent(lab: Lab) -> None:
    product = lab.product("thermostat", resources={"message": "string"})
    acme = lab.solution("acme", products=[product])
    acme.on(
        "device", "datapoint", lua='Keystore.command({key = "n", command = "incr", args = {}}) print("done")'
    )
    lab.faults.add("Keystore.command", delay=5, solution="acme", first=5)
    for number in range(5):
        product.device(f"t-{number}").activate().write(message="x")
    settled(lab)
    for seen in ("2", "4", "5"):  # at most two at a time
        lab.clock.advance(5)
        settled(lab)
        assert acme.Keystore.get(key="n") == {"value": seen}


SEND = 'return Notify.send({Identity = "ann", Body = "wet"})'


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_delayed_answer_of_a_provider_in_the_lab(lab: Lab, when: Literal["before", "after"]) -> None:
    homes = [lab.solution(f"home{number}", services={"Notify": lab.messaging.account}) for number in range(2)]
    for home in homes:
        home.Notify.createBinding(Identity="ann", Endpoint="e", BindingType="sms", Address="+15005550001")
        home.route("GET", "/send", lua=SEND)
    lab.faults.add("POST /v1/Services/*/Notifications", delay=30.5, when=when, first=1)
    begun = lab.begin(homes[0].get, "/send")
    settled(lab)
    assert not begun.done
    assert homes[1].get("/send").status_code == 200  # no call waits for another's answer
    settled(lab)
    lab.clock.advance(30)
    assert not begun.done
    lab.clock.advance(0.5)
    assert begun.result().json()["body"] == "wet"
    assert [each.text for each in lab.handsets["+15005550001"].messages] == ["wet", "wet"]
    settled(lab)


async def test_real_time_limits_do_not_run_while_an_answer_is_delayed() -> None:
    activity = Activity()
    answers = AwaitedAnswers(DelayedRuns(Holding(activity)))
    with activity:
        async with answers.expect("outgoing/a", None, patience=0.05) as header:
            with answers.suspended(header[AWAITED]):
                assert activity.running == 0
                await asyncio.sleep(0.2)  # longer than the limit
            assert activity.running == 1
            with answers.suspended("of another"):
                assert activity.running == 1

        async def held_before() -> None:
            async with answers.expect("outgoing/a", None, patience=0.05) as header:
                with answers.suspended(header[AWAITED]):
                    pass
                await asyncio.sleep(30)

        with pytest.raises(TimeoutError):
            await held_before()
        assert activity.running == 1
    assert activity.running == 0


def test_a_call_that_waits_for_a_provider_can_be_cancelled(lab: Lab) -> None:
    home = lab.solution("home", services={"Notify": lab.messaging.account})
    home.route("GET", "/send", lua=SEND)
    lab.faults.add("POST /v1/Services/*/Notifications", delay=30, first=1)
    begun = lab.begin(home.get, "/send")
    settled(lab)
    lab.restart()
    with pytest.raises(httpx.HTTPError):
        begun.result()
    settled(lab)
    assert home.get("/send").status_code == 200
    settled(lab)


async def send_three(services: Any) -> list[Any]:
    return await asyncio.gather(
        *(services.Notify.send(Identity="ann", Body=str(number)) for number in range(3))
    )


@pytest.mark.parametrize(
    "where", ["POST /v1/Services/*/Notifications", "POST https://*/Notifications", "Notify.send"]
)
def test_a_run_that_waits_for_several_delayed_answers_counts_once_as_delayed(lab: Lab, where: str) -> None:
    home = lab.solution("home", services={"Notify": lab.messaging.account})
    home.route("GET", "/three", send_three)
    lab.faults.add(where, delay=30)
    begun = lab.begin(home.get, "/three")
    settled(lab)
    lab.clock.advance(29)
    settled(lab)
    assert not begun.done
    lab.clock.advance(1)
    assert [each["body"] for each in begun.result().json()] == ["0", "1", "2"]
    settled(lab)
    assert lab.faults.frame()["hits"].tolist() == [3]


class Floods(Behaviour):
    """Behaviour that records as many points as may be queued, then writes once more."""

    async def run(self, device: FleetDevice) -> None:
        now = device.now()
        await device.record({"message": {now - number: number for number in range(1100)}})
        await device.write(message="last")
        device.note(written=device.now() - now)


def test_a_full_queue_behind_a_delayed_handler(lab: Lab) -> None:
    product = lab.product("thermostat", resources={"message": "string"})
    acme = lab.solution("acme", products=[product])
    acme.on("device", "datapoint", lua='Keystore.command({key = "n", command = "incr", args = {}})')
    lab.faults.add("Keystore.command", delay=5, solution="acme", first=1)
    run = product.fleet(2, Floods).run(minutes=1, progress=False)
    assert run.devices()["written"].tolist() == [5, 0]  # the other device has its own queue
    assert acme.Keystore.get(key="n") == {"value": "2202"}


async def test_gather_counts_the_coroutines_in_progress() -> None:
    activity = Activity()
    gates = [asyncio.Event() for _ in range(3)]

    async def work(number: int) -> int:
        await gates[number].wait()
        return number

    async def all_of_them() -> list[int]:
        with activity:
            return await activity.gather([work(number) for number in range(3)])

    task = asyncio.ensure_future(all_of_them())
    await asyncio.sleep(0)
    for left in (3, 2, 1):
        assert activity.running == left
        gates[left - 1].set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert await task == [0, 1, 2]
    assert activity.running == 0
    with activity:
        assert await activity.gather([]) == []
    task = asyncio.ensure_future(all_of_them())
    gates[0].clear()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert activity.running == 0
