"""Keystore: the largest that is taken, and what lies just beyond it."""

from __future__ import annotations

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import Keystore
from labkit.conformance.target import Target

LONGEST = 2**20  # bytes of a value
LARGEST = 2**63 - 1
KINDS: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("set", ("value",)),
    ("rpush", ("a", "bc")),
    ("sadd", ("a", "bc")),
    ("hset", ("f", "abc")),
    ("zadd", (1, "abc")),
)


@check("KEY-CMD-7", "a value has 1,048,576 bytes at most, however it grows")
async def longest_value(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    await store.set(key, "x" * (LONGEST // 2))
    await store.command(key, "append", "x" * (LONGEST // 2 - 4))
    store.same("strlen after append", await store.command(key, "append", "éé"), LONGEST)
    await store.refused("command", 400, command="append", key=key, args=["x"])
    store.same("strlen", await store.command(key, "strlen"), LONGEST)
    await store.command(key, "del")
    store.same("the bit before", await store.command(key, "setbit", 8 * LONGEST - 1, 1), 0)
    store.same("strlen after setbit", await store.command(key, "strlen"), LONGEST)
    store.same("getbit", await store.command(key, "getbit", 8 * LONGEST - 1), 1)
    store.same("bitpos", await store.command(key, "bitpos", 1), 8 * LONGEST - 1)
    for offset in (8 * LONGEST, 2**32, -1):
        await store.refused("command", 400, command="setbit", key=key, args=[offset, 1])
    store.same("strlen", await store.command(key, "strlen"), LONGEST)
    await store.command(key, "del")


@check("KEY-CMD-5", "whole numbers and cursors to their last digit")
async def largest_numbers(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    await store.set(key, str(LARGEST - 1))
    store.same("incr", await store.command(key, "incr"), str(LARGEST))
    await store.refused("command", 400, command="incr", key=key)
    await store.set(key, str(-LARGEST))
    store.same("decr", await store.command(key, "decr"), str(-LARGEST - 1))
    await store.refused("command", 400, command="decr", key=key)
    store.same("the value", await store.get(key), str(-LARGEST - 1))
    await store.set(key, "0")
    store.same("incrby", await store.command(key, "incrby", str(LARGEST)), str(LARGEST))
    await store.command(key, "del")
    await store.command(key, "hset", "f", "v")
    for cursor in ("0", "9223372036854775808", "18446744073709551615"):
        await store.command(key, "hscan", cursor)
    store.same("hscan", await store.command(key, "hscan", "0", "COUNT", str(LARGEST)), ["0", ["f", "v"]])
    for cursor in ("18446744073709551616", "99999999999999999999", "1.0", "x"):
        await store.refused("command", 400, command="hscan", key=key, args=[cursor])


@check("KEY-MORE-2", "pages of one key each bring all, however many; a cursor goes to 2^64 - 1")
async def many_pages(target: Target) -> None:
    store, name = Keystore(target), target.identity()
    keys = {f"{name} {number}" for number in range(150)}
    await store.done("mset", values=[{"key": each, "value": "v"} for each in sorted(keys)])
    for count in (1, 7):
        found, cursor = set[str](), 0
        while True:
            page = await store.done("list", match=name, count=count, cursor=cursor)
            found |= {*page["keys"]}
            if not (cursor := page.get("cursor", 0)):
                break
        expect.equal(f"keys by pages of {count}", found, keys)
    await store.refused("list", 400, match=name, cursor=-1)
    await store.call("Keystore", "clear", {"match": name})
    expect.equal("keys after clear", (await store.done("list", match=name))["keys"] or [], [])


@check("KEY-MORE-3", "info counts keys and bytes of every kind")
async def counted(target: Target) -> None:
    store, name = Keystore(target), target.identity()
    for number, (command, args) in enumerate(KINDS):
        before = (await store.done("info"))["usage"]
        await store.command(f"{name}{number}", command, *args)
        after = (await store.done("info"))["usage"]
        store.same(f"keys after {command}", after["keys"] - before["keys"], 1)
        grown = after["size"] - before["size"]
        expect.true(
            f"{command} grows the size by key and value at least", grown >= len(name) + 4, grown, store.last
        )
    await store.call("Keystore", "clear", {"match": name})
