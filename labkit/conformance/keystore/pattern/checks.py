"""Keystore: the commands of the metrics pattern, which count, expire and trim lists."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.probe import Keystore, Probe
from labkit.conformance.target import Target

# ---- counting


@check("KEY-INCR-1", "incrby adds to the value of the key, and returns the sum")
async def incrby(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    await store.set(key, "10")
    for number, sum in ((1, 11), (5, 16), (-20, -4), (0, -4), (1000, 996)):
        store.same(f"what incrby {number} gives", await store.command(key, "incrby", number), sum)
        store.same("value", await store.get(key), str(sum))


@check("KEY-INCR-2", "incrby on a missing key creates it with n")
async def incrby_anew(target: Target) -> None:
    store = Keystore(target)
    for number in (1, 7, -3):
        key = target.identity()
        store.same(f"what incrby {number} gives", await store.command(key, "incrby", number), number)
        store.same("value", await store.get(key), str(number))


@check("KEY-INCR-3", "no increment of many concurrent ones is lost")
async def incrby_at_once(target: Target) -> None:
    scripts, times, key = 8, 12, target.identity()
    probes = [Probe(target) for _ in range(scripts)]
    for probe in probes:  # to connect them all
        await probe.request("GET", "/scripts/well")
    sums = await asyncio.gather(
        *(each.ask("POST", f"/count/{key}", json={"times": times}) for each in probes)
    )
    given = sorted(sum for of_one in sums for sum in of_one)
    expect.equal("what incrby gave", given, list(range(1, scripts * times + 1)))
    store = Keystore(target)
    store.same("value", await store.get(key), str(scripts * times))


# ---- expiry


@check("KEY-EXP-1", "after expireat a key exists before that time, and is gone after it", needs={"clock"})
async def expireat(target: Target) -> None:
    store, count, items = Keystore(target), target.identity(), target.identity()
    until = await device_client.now(target.device("token-open")) + 100
    await store.command(count, "incrby", 5)
    await store.command(items, "lpush", "a")
    for key in (count, items):
        await store.command(key, "expireat", until)
    await target.advance(99)
    store.same("the count before", await store.get(count), "5")
    store.same("the list before", await store.items(items), ["a"])
    await target.advance(2)
    store.same("the count after", await store.get(count), None)
    store.same("the list after", await store.items(items), [])
    store.same("the count starts anew", await store.command(count, "incrby", 1), 1)


@check("KEY-EXP-2", "after EXPIRE a key exists for n seconds, and is gone after them", needs={"clock"})
async def expire(target: Target) -> None:
    store, count, items = Keystore(target), target.identity(), target.identity()
    await store.set(count, "5")
    await store.command(items, "lpush", "a")
    for key in (count, items):
        await store.command(key, "EXPIRE", 100)
    await target.advance(99)
    store.same("the count before", await store.get(count), "5")
    store.same("the list before", await store.items(items), ["a"])
    await target.advance(2)
    store.same("the count after", await store.get(count), None)
    store.same("the list after", await store.items(items), [])


@check("KEY-EXP-1 KEY-EXP-2", "a key exists before its expiry, and a new expiry replaces the old one")
async def not_yet(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    now = await device_client.now(target.device("token-open"))
    await store.set(key, "5")
    for command, amount in (("expireat", now + 1000), ("EXPIRE", 2000), ("expireat", now + 3000)):
        await store.command(key, command, amount)
        store.same(f"value after {command}", await store.get(key), "5")


@check("KEY-EXP-3", "at the second of its expiry a key still exists", needs={"clock"})
async def at_the_second(target: Target) -> None:
    store = Keystore(target)
    until = await device_client.now(target.device("token-open")) + 100
    ends: list[tuple[Any, ...]] = [("expireat", until), ("pexpireat", until * 1000)]
    ends += [("set", "a", "EXAT", until), ("set", "a", "PXAT", until * 1000)]
    keys = await _ending(target, store, ends)
    await target.in_lab(target.lab.clock.advance_to, float(until))
    await _at_their_end(target, store, keys)
    await target.advance(0.7004)  # a lifetime is exact wherever in a second it begins
    ends = [("expire", 100), ("pexpire", 100_000), ("setex", 100, "a"), ("psetex", 100_000, "a")]
    ends += [("set", "a", "EX", 100), ("set", "a", "PX", 100_000)]
    keys = await _ending(target, store, ends)
    await target.advance(100)
    await _at_their_end(target, store, keys)


async def _ending(target: Target, store: Keystore, ends: list[tuple[Any, ...]]) -> dict[str, str]:
    """Store a key for each command that sets an expiry; return the commands by key."""
    keys = {}
    for command, *args in ends:
        key = target.identity()
        await store.set(key, "a")
        await store.command(key, command, *args)
        keys[key] = " ".join(map(str, (command, *args)))
    return keys


async def _at_their_end(target: Target, store: Keystore, keys: dict[str, str]) -> None:
    for key, command in keys.items():
        store.same(f"value at the end of {command}", await store.get(key), "a")
    await target.advance(0.001)
    for key, command in keys.items():
        store.same(f"value right after {command}", await store.get(key), None)
        store.same(f"keys right after {command}", (await store.done("list", match=key))["keys"], [])


@check("KEY-EXP-4", "an expiry in the past removes the key at once; for a missing key the result is 0")
async def in_the_past(target: Target) -> None:
    store = Keystore(target)
    now = await device_client.now(target.device("token-open"))
    plays: tuple[tuple[str, Any], ...] = (("expireat", now - 10), ("expireat", 0), ("expireat", -1))
    for command, amount in (
        *plays,
        ("expireat", now),
        ("pexpireat", now * 1000),
        ("EXPIRE", 0),
        ("expire", -5),
        ("pexpire", 0),
    ):
        key = target.identity()
        none = await store.command(key, command, amount)
        store.same(f"what {command} gives of a key that is not there", none, 0)
        await store.set(key, "5")
        store.same(f"what {command} {amount} gives", await store.command(key, command, amount), 1)
        store.same(f"value after {command} {amount}", await store.get(key), None)


@check("KEY-EXP-5", "an expiry out of range is refused")
async def out_of_range(target: Target) -> None:
    store = Keystore(target)
    largest = 2**63 // 1000 + 1
    for command, amount in (
        ("expire", largest),
        ("EXPIRE", -largest),
        ("expireat", largest),
        ("expireat", -largest),
        ("expire", largest - 1),  # added to the current time it is too large
        ("expire", 2**63 - 1),
        ("expire", -(2**63)),
        ("pexpire", 2**63 - 1),
        ("setex", largest),
    ):
        key = target.identity()
        await store.set(key, "5")
        args = [str(amount), *(["new"] if command == "setex" else [])]
        for each in (key, target.identity()):  # also for a missing key
            text = await store.refused("command", 400, key=each, command=command, args=args)
            error = f"ERR invalid expire time in '{command.lower()}' command"
            store.same(f"error of {command} {amount}", text, error)
        store.same(f"value after {command} {amount}", await store.get(key), "5")
        store.same(f"ttl after {command} {amount}", await store.command(key, "ttl"), -1)


# ---- lists


@check("KEY-LIST-1", "lpush puts an item at the head")
async def lpush(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for pushed in (["a"], ["b", "a"], ["c", "b", "a"], ["a", "c", "b", "a"]):
        await store.command(key, "lpush", pushed[0])
        store.same("the first", await store.command(key, "lrange", 0, 0), pushed[:1])
        store.same("all", await store.items(key), pushed)


@check("KEY-LIST-2", "ltrim keeps the items from start to stop and no others")
async def ltrim(target: Target) -> None:
    store = Keystore(target)
    for start, stop, kept in ((0, 2, "abc"), (1, 3, "bcd"), (2, 2, "c"), (0, 4, "abcde")):
        key = await _letters(target, store)
        await store.command(key, "ltrim", start, stop)
        store.same(f"after ltrim {start} {stop}", await store.items(key), list(kept))


@check("KEY-LIST-3", "lrange returns the items from start to stop, with -1 up to the oldest")
async def lrange(target: Target) -> None:
    store = Keystore(target)
    key = await _letters(target, store)
    for start, stop, given in ((0, -1, "abcde"), (0, 2, "abc"), (1, 3, "bcd"), (4, 4, "e"), (3, -1, "de")):
        found = await store.command(key, "lrange", start, stop)
        store.same(f"what lrange {start} {stop} gives", found, list(given))
    store.same("the list is as it was", await store.items(key), list("abcde"))


@check("KEY-LIST-4", "several items at once, and ranges beyond the ends")
async def ends(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    store.same("what lpush gives", await store.command(key, "lpush", "a", "b", "c"), 3)
    for start, stop, given in (
        (0, -1, "cba"),
        (1, 99, "ba"),
        (-99, 0, "c"),
        (-2, -1, "ba"),
        (3, 9, ""),
        (2, 1, ""),
    ):
        found = await store.command(key, "lrange", start, stop)
        store.same(f"what lrange {start} {stop} gives", found, list(given))
    for start, stop, kept in ((0, -1, "abcde"), (1, -2, "bcd"), (-2, 9, "de")):
        letters = await _letters(target, store)
        await store.command(letters, "ltrim", start, stop)
        store.same(f"after ltrim {start} {stop}", await store.items(letters), list(kept))
    await store.command(key, "ltrim", -99, 99)
    store.same("after a ltrim beyond both ends", await store.items(key), list("cba"))
    await store.command(key, "ltrim", 5, 9)
    store.same("after a ltrim beyond the end", await store.command(key, "exists"), 0)


async def _letters(target: Target, store: Keystore) -> str:
    """Return the key of a new list of a to e."""
    key = target.identity()
    for letter in "edcba":
        await store.command(key, "lpush", letter)
    return key
