"""Deliveries in the background: in order, counted as pending work, and limited in number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from labkit import Lab
from labkit.context import Context
from labkit.faults import ProviderFaults
from labkit.providers.messaging.bindings import Target
from labkit.providers.messaging.courier import WAITING, Courier, Sending
from labkit.providers.messaging.faults import FAULTS, Step
from labkit.providers.messaging.handsets import HandsetMessage, Handsets
from labkit.providers.messaging.payloads import Payload
from tests.context import make_context, open_database
from tests.providers.messaging.api import MESSAGING, ONE, TWO, Api


class Recorder(Handsets):
    """Handsets that record the order of deliveries, and raise for an address of this name."""

    def __init__(self, context: Context) -> None:
        super().__init__(context.clock, context.journal)
        self.order: list[str] = []

    def deliver(self, message: HandsetMessage) -> None:
        if message.address == "broken":
            raise RuntimeError("a handset broke")
        self.order.append(f"{message.notification}/{message.address}")
        super().deliver(message)


@pytest.fixture
async def context() -> AsyncIterator[Context]:
    made = make_context()
    open_database(made)
    yield made
    made.database.close()


@pytest.fixture
def handsets(context: Context) -> Recorder:
    return Recorder(context)


@pytest.fixture
async def courier(context: Context, handsets: Recorder) -> AsyncIterator[Courier]:
    faults: ProviderFaults[Step] = context.faults.provider("messaging", FAULTS)
    made = Courier(context, handsets, faults)
    await made.start()
    yield made
    await made.stop()


def sending(name: str, *addresses: str) -> Sending:
    targets = [Target(f"BS-{each}", "ann", "fcm", each) for each in addresses]
    return Sending(name, "AC", "IS", 1000.0, targets, {"fcm": Payload({"data": {}}, {}, 60, "to")}, 1)


async def test_sendings_are_delivered_in_order(
    context: Context, courier: Courier, handsets: Recorder
) -> None:
    many = [f"t{number}" for number in range(130)]
    first, second = sending("first", *many), sending("second", *many)
    await courier.send(first)
    await courier.send(second)
    assert (handsets.order, context.activity.running) == ([], 2)
    await context.activity.idle()
    assert handsets.order == [f"{name}/{each}" for name in ("first", "second") for each in many]


async def test_a_large_sending_gives_others_their_turn(
    context: Context, courier: Courier, handsets: Recorder
) -> None:
    await courier.send(sending("large", *(f"t{number}" for number in range(1000))))
    seen = set()
    while context.activity.running:
        await asyncio.sleep(0)
        seen.add(len(handsets.order))
    assert len(seen) >= 20


async def test_a_sender_waits_while_the_maximum_is_pending(
    context: Context, courier: Courier, handsets: Recorder
) -> None:
    many = [f"t{number}" for number in range(1000)]
    await courier.send(sending("large", *many))
    await asyncio.sleep(0)  # the courier delivers it, during several turns of the loop
    for number in range(WAITING):
        await courier.send(sending(f"{number}", "a"))
    late, gave_up = (asyncio.ensure_future(courier.send(sending(each, "a"))) for each in ("late", "gave up"))
    await asyncio.sleep(0)
    assert (late.done(), context.activity.running) == (False, WAITING + 3)
    gave_up.cancel()
    await late
    assert gave_up.cancelled()
    await context.activity.idle()  # it would never come if a cancelled one still counted
    assert handsets.order[len(many) :] == [*(f"{number}/a" for number in range(WAITING)), "late/a"]


async def test_a_failing_sending_is_reported_and_the_next_is_delivered(
    context: Context, courier: Courier, handsets: Recorder
) -> None:
    await courier.send(sending("first", "a", "broken", "b"))
    await courier.send(sending("second", "c"))
    await context.activity.idle()
    assert handsets.order == ["first/a", "second/c"]
    [error] = context.journal.select(kind="error")
    assert "a handset broke" in error.summary


async def test_a_sending_without_recipients_is_no_pending_work(context: Context, courier: Courier) -> None:
    await courier.send(sending("none"))
    assert context.activity.running == 0


# ---- concurrent clients


def test_concurrent_clients(lab: Lab, tmp_path: Path) -> None:
    """Two tenants, eight clients: each endpoint once, no identity over the limit, everything delivered."""

    def client(number: int) -> list[int]:
        account = (ONE, TWO)[number % 2]
        folder = tmp_path / str(number)
        folder.mkdir()
        api = Api(lab, folder, account)
        statuses = []
        for turn in range(6):
            bound = api.bind(Endpoint=f"e{turn}", Address=f"{number % 2}-{turn}")
            alone = api.bind(Identity="crowd", Address=f"{number % 2}-{number}-{turn}")
            sent = api.request("POST", api.path("/Notifications"), data={"Tag": "all", "Body": "x"})
            assert (bound.status_code, sent.status_code) == (201, 201)
            statuses.append(alone.status_code)
        return statuses

    with ThreadPoolExecutor(8) as pool:
        statuses = [status for each in pool.map(client, range(8)) for status in each]
    lab.settle()
    assert (statuses.count(201), statuses.count(400)) == (40, 8)  # 20 bindings of each tenant's crowd
    for number, account in enumerate((ONE, TWO)):
        api = Api(lab, tmp_path, account)
        assert len(api.addresses(Identity="ann")) == 6
        assert len(api.addresses(Identity="crowd")) == 20
        assert all(each.startswith(f"{number}-") for each in api.addresses(PageSize=1000))
    assert set(lab.handsets.frame()["state"]) == {"delivered"}
    wrong = [
        each
        for handset in lab.handsets.values()
        for each in handset.messages
        if (each.account == TWO["AccountSid"]) != each.address.startswith("1-")
    ]
    assert wrong == []


def story(folder: Path) -> tuple[str, str, str]:
    """Run a seeded story; return its journal, and the messages and pictures of handsets."""
    folder.mkdir()
    with Lab(seed=11, providers={"messaging": MESSAGING}) as lab:
        one = Api(lab, folder, ONE)
        always = Api(lab, folder, lab.messaging.account)
        for number in range(5):
            one.bound(Identity=f"i{number}", Address=f"t{number}", Tag=["x"])
            always.bound(Identity=f"i{number}", Address=f"t{number}")
        lab.handsets["t3"].offline()
        lab.messaging.fault("token unregistered")
        one.sent(Tag="x", Body="first", Ttl=5)
        lab.clock.advance(seconds=4.5)
        always.sent(Tag="all", Body="second")
        lab.clock.advance(seconds=1)
        lab.handsets["t3"].online()
        one.page(PageSize=2)
        return lab.journal.canonical(), lab.handsets.frame().to_csv(), lab.handsets._repr_html_()


def test_a_seed_reproduces_a_story(tmp_path: Path) -> None:
    first, again = story(tmp_path / "a"), story(tmp_path / "b")
    assert first == again
    assert '"kind": "delivery"' in first[0]
