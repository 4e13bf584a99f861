"""A Keystore on an external Redis: the same operations, its own prefix, and refused settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from labkit.core.errors import SettingsError
from labkit.labtime.clock import Clock
from labkit.services.keystore import Keystore
from labkit.services.operation import Caller
from tests.cases import cases
from tests.context import make_context
from tests.services.keystore.stores import opened

OTHER = Caller("other")


async def test_the_operations_on_a_real_redis(redis_url: str) -> None:
    async with opened(
        clock=Clock(), url=redis_url, domain="labkit-operations.localhost", limits={"keystore_keys": 1500}
    ) as lab:
        await lab.call("clear")
        assert await lab.call("set", key="k", value=1.0) == {}
        assert await lab.call("get", key="k") == {"value": "1"}
        assert await lab.call("get", key="missing") == {}
        assert await lab.command("hset", "h", "f", 0.5) == 1
        assert await lab.command("hgetall", "h") == {"f": "0.5"}
        assert await lab.command("zadd", "z", 3.2, "m", 1, "a") == 2
        assert await lab.command("zrange", "z", 0, -1, "WITHSCORES") == ["a", "1", "m", "3.2"]
        assert await lab.command("zscore", "z", "m") == "3.2"
        assert await lab.command("sadd", "s", "b", "a") == 2
        assert await lab.command("smembers", "s") == ["a", "b"]
        wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
        assert await lab.refused("incr", "h") == (400, wrong)
        assert await lab.refused("incr", "k", "x") == (
            400,
            "ERR wrong number of arguments for 'incr' command",
        )
        assert (await lab.call("info"))["usage"] == {"keys": 4, "size": 2 + 5 + 9 + 3}
        await lab.call("mset", values=dict.fromkeys((f"key{number}" for number in range(1400)), 1))
        assert len((await lab.call("list", match="key"))["keys"]) >= 1000
        assert await lab.call("mset", values=dict.fromkeys((f"new{number}" for number in range(97)), 1)) == {
            "type": "QueryError",
            "status": 403,
            "status_code": 403,
            "error": "Key count quota reached: 1404 of 1500 keys are in use, by limits.keystore_keys.",
        }
        await lab.call("clear")
        assert (await lab.call("list"))["keys"] == []


async def test_labs_and_solutions_never_share_a_key(redis_url: str) -> None:
    clock = Clock()
    async with (
        opened(clock=clock, url=redis_url, domain="labkit-a.localhost") as one,
        opened(clock=clock, url=redis_url, domain="labkit-a.acme.localhost") as other,
    ):
        await one.call("set", key="k", value="one")
        await one.call("set", OTHER, key="k", value="the other solution's")
        assert await other.call("get", key="k") == {}
        await other.call("clear")
        assert await one.call("get", key="k") == {"value": "one"}
        await one.call("clear")
        assert await one.call("get", OTHER, key="k") == {"value": "the other solution's"}
        await one.call("clear", OTHER)


async def test_an_external_redis_is_not_logged_in_the_data_file(redis_url: str, tmp_path: Path) -> None:
    def rows(connection: Connection) -> object:
        return connection.execute(text("SELECT count(*) FROM keystore_log")).scalar()

    for expected in ({}, {"value": "v"}):
        async with opened(tmp_path / "lab.db", Clock(), url=redis_url, domain="labkit-log.localhost") as lab:
            assert await lab.call("get", key="k") == expected
            await lab.call("set", key="k", value="v")
            assert await lab.database.run(rows) == 0
    async with opened(clock=Clock(), url=redis_url, domain="labkit-log.localhost") as lab:
        await lab.call("clear")


@pytest.mark.parametrize("rate", [0, 60])
async def test_an_external_redis_needs_the_wall_clock(rate: float) -> None:
    keystore = Keystore(make_context(clock=Clock(rate=rate), keystore="redis://127.0.0.1:1/0"))
    with pytest.raises(SettingsError, match=r"^keystore: .* rate"):
        await keystore.start()


@cases("url", ["redis://:secret@127.0.0.1:1/0", "http://127.0.0.1/", "redis://127.0.0.1:1/zero", "nonsense"])
async def test_a_redis_that_cannot_be_used_is_a_settings_error(url: str) -> None:
    keystore = Keystore(make_context(clock=Clock(), keystore=url))
    with pytest.raises(SettingsError, match=r"^keystore: ") as refused:
        await keystore.start()
    assert "secret" not in str(refused.value)
