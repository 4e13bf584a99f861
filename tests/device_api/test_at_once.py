"""Writes of several devices that arrive in one turn of the loop: the order of their steps, and a full disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import Connection

from labkit.storage.database import execute
from tests.device_api.rig import ALIAS, Client, DeviceRig, device_rig

DEVICES = 6


async def devices(rig: DeviceRig) -> list[Client]:
    return [await rig.device(identity=f"d{number}") for number in range(DEVICES)]


async def write(clients: list[Client], values: list[str]) -> list[int]:
    """Send a write of each device in one turn of the loop; return the statuses."""
    for client, value in zip(clients, values, strict=True):
        client.send("POST", ALIAS, f"text={value}")
    return [(await client.answer("POST")).status for client in clients]


def stored(connection: Connection) -> dict[str, str]:
    return dict(execute(connection, "SELECT identity, value FROM datapoint").fetchall())


async def test_all_are_stored_before_the_first_is_answered(rig: DeviceRig) -> None:
    clients = await devices(rig)
    others: list[int] = []
    raised: list[str] = []

    def watch(_: str, identity: str, points: object) -> None:
        values = rig.platform.context.database.read_now(stored)
        others.append(list(values.values()).count(value))
        raised.append(identity)

    rig.platform.devices.state.watch(watch)
    for value in ("aa", "bb", "longer"):  # the head of the second is known from the first
        assert await write(clients, [value] * DEVICES) == [204] * DEVICES
    assert others == [DEVICES] * 3 * DEVICES
    assert raised == [f"d{number}" for number in range(DEVICES)] * 3
    assert rig.platform.context.activity.arrived == 0


async def test_clients_that_leave_are_no_longer_counted_as_arrived(rig: DeviceRig) -> None:
    clients = await devices(rig)
    for client in clients:
        client.send("POST", ALIAS, "text=a")
        client.leave()
    await asyncio.sleep(0)
    rig.platform.edge.cut("the platform lost its power")
    await rig.platform.edge.crash()
    await rig.idle()
    assert rig.platform.context.activity.arrived == 0


async def test_on_a_full_disk_each_is_told_what_became_of_its_own(tmp_path: Path) -> None:
    async with device_rig(data=str(tmp_path / "lab.db")) as rig:
        clients = await devices(rig)
        assert await write(clients, ["before"] * DEVICES) == [204] * DEVICES
        await rig.idle()
        before = len(rig.events("datapoint"))
        watched: list[str] = []
        rig.platform.devices.state.watch(lambda product, identity, points: watched.append(identity))

        def limit(connection: Connection) -> None:
            (pages,) = execute(connection, "PRAGMA page_count").fetchone()
            execute(connection, f"PRAGMA max_page_count={pages}")

        await rig.platform.context.database.read(limit)
        values = ["after", "x" * 50_000] * (DEVICES // 2)
        statuses = await write(clients, values)
        assert 507 in statuses
        assert set(statuses) <= {204, 507}
        found = await rig.platform.context.database.read(stored)
        answered = [number for number, status in enumerate(statuses) if status == 204]
        assert found == {
            f"d{number}": values[number] if number in answered else "before" for number in range(DEVICES)
        }
        for number, client in enumerate(clients):
            fresh = await rig.connect()
            fresh.credentials = client.credentials
            assert (await fresh.ask("GET", f"{ALIAS}?text")).pairs == [("text", found[f"d{number}"])]
        await rig.idle()
        assert watched == [f"d{number}" for number in answered]
        assert len(rig.events("datapoint")) == before + len(answered)
