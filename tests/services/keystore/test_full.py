"""The embedded Keystore on a full disk: a refused write changes nothing, in memory or in the file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlalchemy import Connection

from labkit.storage.database import execute
from tests.services.keystore.stores import Lab, opened

LARGE = "v" * 20_000


def limit(connection: Connection, more: int) -> None:
    """Let the file grow by a number of pages and no further, as on a nearly full disk."""
    pages = execute(connection, "PRAGMA page_count").fetchone()[0]
    execute(connection, f"PRAGMA max_page_count={pages + more}")


async def stored(lab: Lab) -> dict[str, object]:
    return {key: await lab.command("get", key) for key in ("a", "n")}


async def test_a_write_without_space_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    async with opened(path) as lab:
        await lab.call("set", key="a", value="before")
        await lab.command("incrby", "n", 5)
        before = await stored(lab)
        await lab.database.read(limit, 0)
        for _ in range(3):
            results = await asyncio.gather(
                lab.call("set", key="a", value=LARGE), lab.call("set", key="a", value=LARGE * 2)
            )
            said = f"no room for the data file {path}, nothing was stored: database or disk is full"
            refused = {"type": "ServerError", "error": said, "status": 507, "status_code": 507}
            assert [{key: result[key] for key in refused} for result in results] == [refused] * 2
            assert await stored(lab) == before
        await lab.database.read(limit, 1000)
        await lab.call("set", key="a", value=LARGE)
        await lab.command("incrby", "n", 1)
        await lab.database.read(limit, 0)
        assert (await lab.call("set", key="b", value=LARGE * 5))["status"] == 507
    async with opened(path) as lab:  # it stopped without space, too
        assert await stored(lab) == {"a": LARGE, "n": "6"}
        assert (await lab.call("list"))["keys"] == ["a", "n"]
