"""Remote procedure calls of scripts on datapoints: reading, recording, deleting them and waiting for them."""

from __future__ import annotations

from typing import Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.solutions.rpc.checks import device_of
from labkit.conformance.solutions.rpc.rpc import ALIASES, Rpc
from labkit.conformance.target import Target

NUMBER, TEXT = {"alias": "number"}, {"alias": "text"}
RECORDED = (("10", "1"), ("20", "2"), ("30", "3.5"), ("40", "4"), ("100", "5"))


async def recorded(target: Target) -> Rpc:
    """Return calls that act as a device with five datapoints."""
    device = await device_of(target)
    pairs: list[tuple[str, object]] = [("alias", "number"), *RECORDED]
    expect.status(await device_client.record(device, pairs), 204)
    return await Rpc(target).acting_as(device.identity, target)


@check("SOL-RPC-5", "datapoints are read in a range, in order and in parts")
async def ranges(target: Target) -> None:
    rpc = await recorded(target)
    for options, expected in (
        ({}, [[100, 5]]),
        ({"limit": 2}, [[100, 5], [40, 4]]),
        ({"limit": 2, "sort": "asc"}, [[10, 1], [20, 2]]),
        ({"limit": 10_000, "sort": "desc"}, [[100, 5], [40, 4], [30, 3.5], [20, 2], [10, 1]]),
        ({"starttime": 20, "endtime": 40, "limit": 9, "sort": "asc"}, [[20, 2], [30, 3.5], [40, 4]]),
        ({"starttime": 21, "endtime": 39, "limit": 9}, [[30, 3.5]]),
        ({"starttime": 41, "endtime": 99, "limit": 9}, []),
        ({"starttime": 40, "endtime": 20, "limit": 9}, []),
        ({"starttime": 0, "endtime": 99, "limit": 2, "selection": "givenwindow"}, [[40, 4]]),
        (
            {"starttime": 0, "endtime": 39, "limit": 2, "selection": "givenwindow", "sort": "asc"},
            [[10, 1], [20, 2]],
        ),
        ({"starttime": 0, "endtime": 99, "limit": 2, "selection": "autowindow"}, [[40, 4], [20, 2]]),
        ({"limit": 2, "selection": "autowindow", "sort": "asc"}, [[10, 1], [100, 5]]),
        ({"limit": 1, "selection": "autowindow", "sort": "asc"}, [[10, 1]]),
    ):
        rpc.same(f"read with {options}", await rpc.ok("read", NUMBER, options), expected)
    rpc.same("read without options", await rpc.ok("read", NUMBER), [[100, 5]])
    rpc.same("read of nothing", await rpc.ok("read", TEXT, {"limit": 5}), [])
    for alias, value, shown in (
        ("flag", True, "true"),
        ("text", "7", "7"),
        ("level", 7, 7),
        ("number", 0.1, 0.1),
    ):
        await rpc.ok("write", {"alias": alias}, value)
        rpc.same(f"value of {alias}", [each[1] for each in await rpc.ok("read", {"alias": alias})], [shown])
    for wrong in (
        {"limit": 0},
        {"limit": 10_001},
        {"limit": 1.5},
        {"limit": True},
        {"sort": "up"},
        {"selection": "some"},
        {"starttime": -1},
        {"endtime": "now"},
    ):
        await rpc.fails("read", NUMBER, wrong)
    await rpc.fails("read", {"alias": ""})
    await rpc.fails("read", {"alias": "Number"})


@check("SOL-RPC-6", "values are recorded with their timestamps")
async def records(target: Target) -> None:
    device = await device_of(target)
    rpc = await Rpc(target).acting_as(device.identity, target)
    await rpc.ok("record", NUMBER, [[30, 3], [10, 1], [20.9, 2.5]], {})
    rpc.same("what is stored", await rpc.points("number"), [[10, 1], [20, 2.5], [30, 3]])
    await rpc.ok("record", NUMBER, [[20, 7]])
    stored: list[list[Any]] = [[10, 1], [20, 7], [30, 3]]
    rpc.same("a second value of a second", await rpc.points("number"), stored)
    now = await device_client.now(device)
    for wrong in ([[40, 1], [50, "warm"]], [[40, 1], [now + 100, 2]], [[40, 1], [-now - 100, 2]], [[40]], 5):
        await rpc.fails("record", NUMBER, wrong)
        rpc.same("what is stored", await rpc.points("number"), stored)
    found = await rpc.entry("recordbatch", NUMBER, [[40, 4], [50, "warm"], [now + 100, 2], [60, 6]])
    rpc.same("status of a batch", found.get("status"), [[50, "invalid"], [now + 100, "invalid"]])
    stored += [[40, 4], [60, 6]]
    rpc.same("what is stored", await rpc.points("number"), stored)
    await rpc.ok("recordbatch", NUMBER, [[now + 50, 8]])
    rpc.same("a value ahead of its time", (await rpc.points("number"))[-1], [now + 50, 8])
    before = await device_client.now(device)
    await rpc.ok("record", TEXT, [[-100, "back"]])
    [[stamp, text]] = await rpc.points("text")
    after = await device_client.now(device)
    expect.true("it counts back from now", before - 100 <= stamp <= after - 100, stamp, rpc.last)
    rpc.same("its value", text, "back")


@check("SOL-RPC-7", "datapoints are deleted between two times")
async def flushed(target: Target) -> None:
    rpc = await recorded(target)
    near = await recorded(target)
    await rpc.ok("record", {"alias": "level"}, [[20, 2]])
    await rpc.ok("flush", NUMBER, {"newerthan": 20, "olderthan": 40})
    rpc.same("left", await rpc.points("number"), [[10, 1], [20, 2], [40, 4], [100, 5]])
    await rpc.ok("flush", NUMBER, {"olderthan": 20})
    rpc.same("left", await rpc.points("number"), [[20, 2], [40, 4], [100, 5]])
    await rpc.ok("flush", NUMBER, {"newerthan": 40})
    rpc.same("left", await rpc.points("number"), [[20, 2], [40, 4]])
    await rpc.fails("flush", NUMBER, {"newerthan": "now"})
    await rpc.ok("flush", NUMBER, {})
    rpc.same("left", await rpc.points("number"), [])
    rpc.same("of another resource", await rpc.points("level"), [[20, 2]])
    await rpc.ok("record", TEXT, [[20, "x"]])
    await rpc.ok("flush", {"alias": ""})
    for alias in ALIASES:
        rpc.same("left", await rpc.points(alias), [])
    rpc.same("of another device", len(await near.points("number")), len(RECORDED))
    await Rpc(target).fails("flush", {"alias": ""})


@check("SOL-RPC-7", "a device reads no value that was deleted")
async def flushed_for_device(target: Target) -> None:
    device = await device_of(target)
    rpc = await Rpc(target).acting_as(device.identity, target)
    expect.status(await device_client.write(device, {"number": 1, "text": "x"}), 204)
    expect.equal("what is read", await device_client.stored(device, "number"), {"number": "1"})
    await rpc.ok("flush", NUMBER)
    expect.equal("what is read", await device_client.stored(device, "number", "text"), {"text": "x"})


@check("SOL-RPC-8", "a wait that has nothing to wait for ends at once")
async def waits_no_longer(target: Target) -> None:
    rpc = await recorded(target)
    rpc.same("after the second", await rpc.ok("wait", NUMBER, {"timeout": 300_000, "since": 9}), [10, 1])
    rpc.same("not the second itself", await rpc.ok("wait", NUMBER, {"timeout": 0, "since": 10}), [20, 2])
    for options in ({"timeout": 0}, {"timeout": 0, "since": 100}):
        found = await rpc.entry("wait", NUMBER, options)
        rpc.same("status", found.get("status"), "expire")
    for wrong in ({"timeout": -1}, {"timeout": 300_001}, {"since": "now"}):
        await rpc.fails("wait", NUMBER, wrong)


@check("SOL-RPC-8", "a wait ends with the next value, or after its time", needs={"clock"})
async def waits(target: Target) -> None:
    device = await device_of(target)
    rpc = await Rpc(target).acting_as(device.identity, target)
    waiting = target.start(rpc.entry("wait", NUMBER, {"timeout": 60_000}))
    await target.wait_for_polls(device, "number")
    await target.advance(59)
    expect.equal("has it ended?", waiting.done(), False)
    now = await device_client.now(device)
    expect.status(await device_client.write(device, {"text": "another"}), 204)
    expect.status(await device_client.write(device, {"number": 8.5}), 204)
    found = await waiting
    rpc.same("what came", found, {"id": "a", "status": "ok", "result": [now, 8.5]})
    waiting = target.start(rpc.entry("wait", NUMBER, {"timeout": 60_000, "since": now}))
    await target.wait_for_polls(device, "number")
    await target.advance(60)
    rpc.same("status after its time", (await waiting).get("status"), "expire")
