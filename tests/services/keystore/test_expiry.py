"""When keys expire, on the virtual clock: alive at their last moment, gone just after, as in Redis."""

from __future__ import annotations

from typing import Any

from labkit.core.clock import Clock
from tests.cases import cases
from tests.services.keystore.stores import opened

START = 1_000_000.0
WAYS: list[tuple[list[Any], float]] = [
    (["set", "v", "EX", 10], 10),
    (["set", "v", "PX", 10_500], 10.5),
    (["set", "v", "EXAT", int(START) + 10], 10),
    (["set", "v", "PXAT", int(START) * 1000 + 10_500], 10.5),
    (["setex", 10, "v"], 10),
    (["psetex", 10_500, "v"], 10.5),
    (["expire", 10], 10),
    (["pexpire", 10_500], 10.5),
    (["expireat", int(START) + 10], 10),
    (["pexpireat", int(START) * 1000 + 10_500], 10.5),
]


@cases(("command", "lifetime"), WAYS)
async def test_a_key_lives_to_the_end_of_its_last_moment(command: list[Any], lifetime: float) -> None:
    async with opened(clock=Clock(rate=0, start=START)) as lab:
        await lab.call("set", key="k", value="v")
        name, *args = command
        await lab.command(name, "k", *args)
        assert await lab.command("pttl", "k") == lifetime * 1000
        for moment in (START + lifetime - 1, START + lifetime):
            await lab.clock.advance_to(moment)
            assert await lab.call("get", key="k") == {"value": "v"}
            assert await lab.command("exists", "k") == 1
            assert (await lab.call("list"))["keys"] == ["k"]
        await lab.clock.advance(seconds=0.001)
        assert await lab.call("get", key="k") == {}
        assert await lab.command("exists", "k") == 0
        assert (await lab.call("list"))["keys"] == []


async def test_a_lifetime_is_whole_wherever_in_a_second_it_begins() -> None:
    async with opened(clock=Clock(rate=0, start=START + 0.7004)) as lab:
        await lab.command("setex", "k", 10, "v")
        await lab.clock.advance(seconds=10)
        assert await lab.command("exists", "k") == 1
        await lab.clock.advance(seconds=0.001)
        assert await lab.command("exists", "k") == 0


@cases(("left", "ttl"), [(9.4, 9), (9.5, 10), (8.5, 9), (0.5, 1), (0.4, 0)])
async def test_ttl_rounds_to_the_nearest_second(left: float, ttl: int) -> None:
    async with opened(clock=Clock(rate=0, start=START)) as lab:
        await lab.command("psetex", "k", int(left * 1000), "v")
        assert await lab.command("ttl", "k") == ttl


@cases(
    "command",
    [
        ["expire", 0],
        ["expire", -5],
        ["pexpire", 0],
        ["expireat", int(START)],
        ["expireat", 1],
        ["pexpireat", int(START) * 1000],
    ],
)
async def test_an_expiry_that_is_not_ahead_deletes_at_once(command: list[Any]) -> None:
    async with opened(clock=Clock(rate=0, start=START)) as lab:
        name, *args = command
        assert await lab.command(name, "k", *args) == 0
        await lab.call("set", key="k", value="v")
        assert await lab.command(name, "k", *args) == 1
        assert await lab.call("get", key="k") == {}
        assert await lab.command("ttl", "k") == -2


@cases(
    ("name", "amount"),
    [
        ("expire", -(2**63)),
        ("expire", -9223372036854776),  # of which the milliseconds are just out of range
        ("expire", 9223372036854775),
        ("expire", 2**63 - 1),
        ("pexpire", 2**63 - 1),
        ("expireat", -9223372036854776),
        ("expireat", 9223372036854776),
        ("setex", 9223372036854776),
    ],
)
async def test_an_expiry_out_of_range_is_refused(name: str, amount: int) -> None:
    async with opened(clock=Clock(rate=0, start=START)) as lab:
        await lab.call("set", key="k", value="v")
        value = ["new"] if name == "setex" else []
        for key in ("k", "missing"):
            refused = await lab.refused(name, key, str(amount), *value)
            assert refused == (400, f"ERR invalid expire time in '{name}' command")
        assert await lab.call("get", key="k") == {"value": "v"}
        assert await lab.command("ttl", "k") == -1


async def test_what_keeps_an_expiry_and_what_clears_it() -> None:
    async with opened(clock=Clock(rate=0, start=START)) as lab:
        await lab.command("setex", "n", 100, 1)
        for name, args in (("incrby", [5]), ("incrbyfloat", [0.5]), ("append", ["0"]), ("getbit", [1])):
            await lab.command(name, "n", *args)
            assert await lab.command("ttl", "n") == 100
        await lab.command("set", "n", 1, "KEEPTTL")
        assert await lab.command("ttl", "n") == 100
        assert await lab.command("persist", "n") == 1
        assert await lab.command("ttl", "n") == -1
        await lab.command("expire", "n", 100)
        await lab.call("set", key="n", value=2)
        assert await lab.command("ttl", "n") == -1
        await lab.command("setex", "l", 100, 1)
        await lab.call("delete", key="l")
        await lab.command("lpush", "l", "x")
        assert await lab.command("ttl", "l") == -1
        await lab.command("expire", "l", 100)
        await lab.command("lpush", "l", "y")
        assert await lab.command("ttl", "l") == 100


async def test_a_counter_of_a_day_begins_anew_after_midnight() -> None:
    midnight = START + 3600
    async with opened(clock=Clock(rate=0, start=START)) as lab:
        await lab.command("incrby", "dailyCount", 41)
        await lab.command("expireat", "dailyCount", midnight)
        await lab.clock.advance_to(midnight)
        assert await lab.command("incrby", "dailyCount", 1) == 42
        await lab.clock.advance(seconds=0.001)
        assert await lab.command("incrby", "dailyCount", 1) == 1
        assert await lab.command("ttl", "dailyCount") == -1


async def test_a_scaled_clock_expires_in_its_own_time() -> None:
    clock = Clock(rate=1000)
    async with opened(clock=clock) as lab:
        await lab.command("psetex", "k", 5_000, "v")
        await clock.sleep_until(clock.now() + 6)
        assert await lab.command("exists", "k") == 0
