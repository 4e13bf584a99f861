"""Keystore: limits of sizes and numbers, with values at each limit and just beyond it."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, Keystore
from labkit.conformance.target import Target

LONGEST = 2**20  # bytes of a value
LARGEST = 2**63 - 1
AT_ONCE = 512  # fields of a hash that Redis scans in one page (hash-max-listpack-entries)
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


@check("KEY-MORE-1 KEY-MORE-3", "thousands of keys are stored, read, deleted and cleared at once")
async def thousands(target: Target) -> None:
    store, name = Keystore(target), target.identity()
    keys = [f"{name} {number}" for number in range(5000)]
    await store.done("mset", values={key: f"of {key}" for key in keys})
    found = await store.field("mget", "values", keys=keys)
    expect.equal("values after mset", found, [f"of {key}" for key in keys])
    await store.done("mdelete", keys=keys[:1200])
    await store.call("Keystore", "clear", {"match": f"{keys[1200]}"})
    found = await store.field("mget", "values", keys=keys)
    expect.equal("values after mdelete", found, [None] * 1201 + [f"of {key}" for key in keys[1201:]])
    await store.done("mset", values=dict.fromkeys(keys, "again"))
    await store.call("Keystore", "clear", {"match": name})
    expect.equal("values after clear", await store.field("mget", "values", keys=keys), [None] * 5000)


@check("KEY-MORE-3", "clear removes keys by the thousand, and with count about that number")
async def many_cleared(target: Target) -> None:
    store, name = Keystore(target), target.identity()
    other, keys = target.identity(), [f"{name} {number}" for number in range(1100)]
    await store.set(other, "kept")
    for first in (0, 550):
        await store.done("mset", values=dict.fromkeys(keys[first : first + 550], 1))
    await store.call("Keystore", "clear", {"match": name, "count": 10})
    values = await store.field("mget", "values", keys=keys)
    left = sum(each is not None for each in values)
    expect.true("keys that clear with a count left", 100 <= left < len(keys), left, store.last)
    await store.call("Keystore", "clear", {"match": name})
    expect.equal("what is left", {*await store.field("mget", "values", keys=keys)}, {None}, store.last)
    store.same("another key", await store.get(other), "kept")


@check("KEY-MORE-1", "keys that are no list, or values that are no pairs, are refused")
async def no_pairs(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    pair: dict[str, Any] = {"key": key, "value": 1}
    wrong: object
    for wrong in (
        5,
        True,
        key,
        [5],
        [key],
        [[key, 1]],
        [pair, {"key": key}],
        [pair, {"value": 1}],
        {key: [1]},
    ):
        await store.refused("mset", 400, values=wrong)
    for wrong in ([[key]], {"a": [key]}, [True], [""]):
        for operation in ("mget", "mdelete"):
            await store.refused(operation, 400, keys=wrong)
    store.same("what mset left", await store.command(key, "exists"), 0)
    for wrong in ([], {}):
        await store.done("mset", values=wrong)
        store.same("values", await store.done("mget", keys=wrong), {"values": []})
    for one in (key, [key]):
        await store.set(key, "v")
        store.same("values", await store.done("mget", keys=one), {"values": ["v"]})
        await store.done("mdelete", keys=one)
        store.same("what mdelete left", await store.get(key), None)


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


@check(
    "KEY-SET-3 KEY-CALL-5",
    "infinite numbers, NaN, lone surrogates and values that are too long are refused",
    needs={"settings"},
)
async def no_values(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    keystore: Any = target.lab.solution(PROBE).Keystore
    await store.set(key, "before")
    longest = "é" * (LONGEST // 2)
    await target.in_lab(keystore.set, key=f"{key} long", value=longest)
    store.same("strlen", await store.command(f"{key} long", "strlen"), LONGEST)
    await store.done("delete", key=f"{key} long")
    too_long = (longest + "x", "x" * (LONGEST + 1))
    for wrong in (float("inf"), float("-inf"), float("nan"), "half \ud83d", [1], {"a": 1}, *too_long):
        for operation, given in (
            (keystore.set, {"key": key, "value": wrong}),
            (keystore.mset, {"values": {key: wrong}}),
            (keystore.command, {"key": key, "command": "append", "args": [wrong]}),
            (keystore.get, {"key": wrong}),
        ):
            found = await target.in_lab(operation, **given)
            refused = found.get("status") if isinstance(found, dict) else found
            expect.equal(f"status of what has {str(wrong)[:9]!r}", refused, 400)
    store.same("what get gives", await store.get(key), "before")


@check("KEY-CALL-5", "a number is the key of its digits; booleans and empty tables are no keys")
async def number_keys(target: Target) -> None:
    store, number = Keystore(target), int(target.identity().encode().hex()[-12:], 16)
    for given, key in ((number, str(number)), (float(number), str(number)), (number + 0.5, f"{number}.5")):
        await store.set(key, f"of {key}")
        store.same(f"what get of {given!r} gives", await store.done("get", key=given), {"value": f"of {key}"})
        found = await store.done("command", key=key, command="exists", args=[given])
        store.same(f"how many {given!r} are", found, {"value": 2})
        await store.done("delete", key=given)
        store.same("what is left", await store.get(key), None)
    wrong: object
    for wrong in (True, False, [], {}):
        await store.refused("get", 400, key=wrong)


@check("KEY-CALL-2", "a call takes 10,000 arguments, keys or pairs, and no more")
async def most(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    store.same("llen", await store.command(key, "rpush", *[1] * 10_000), 10_000)
    await store.refused("command", 400, key=key, command="rpush", args=[1] * 10_001)
    store.same("llen", await store.command(key, "llen"), 10_000)
    found = await store.field("mget", "values", keys=[f"{key} none"] * 10_000)
    store.same("how many values", len(found), 10_000)
    for operation in ("mget", "mdelete"):
        await store.refused(operation, 400, keys=[key] * 10_001)
    await store.done("mdelete", keys=[key] * 10_000)
    pairs = [{"key": f"{key} none", "value": 1}] * 10_001
    for values in (pairs, {f"{key} {number}": 1 for number in range(10_001)}):
        await store.refused("mset", 400, values=values)
    store.same("what mset left", await store.command(f"{key} none", "exists"), 0)
    await store.done("mset", values=pairs[:-1])
    await store.command(f"{key} none", "del")


@check("KEY-CMD-3", "a hash of any size is scanned whole, page by page")
async def scanned(target: Target) -> None:
    store = Keystore(target)
    for size in (AT_ONCE, AT_ONCE + 1):
        key, fields = (
            target.identity(),
            [f"{number} {'odd' if number % 2 else 'even'}" for number in range(size)],
        )
        await store.command(key, "hmset", *(item for each in fields for item in (each, f"of {each}")))
        for count, pattern in ((None, None), (300, "*odd"), (5000, None)):
            cursor, found, pages = "0", dict[str, str](), 0
            options = [] if count is None else ["COUNT", count]
            options += [] if pattern is None else ["match", pattern]
            while pages <= size:
                cursor, items = await store.command(key, "hscan", cursor, *options)
                found |= zip(items[::2], items[1::2], strict=True)
                pages += 1
                if cursor == "0":
                    break
            wanted = {each: f"of {each}" for each in fields if pattern is None or "odd" in each}
            expect.equal(f"fields of {size} by {options}", found, wanted)
            whole = size <= AT_ONCE or count == 5000
            expect.true(f"pages of {size} by {options}", (pages == 1) == whole, pages, store.last)
        await store.command(key, "del")


@check("KEY-CMD-5", "a pattern has 1024 bytes at most, and fewer for a hash of many fields")
async def longest_patterns(target: Target) -> None:
    store, few, many = Keystore(target), target.identity(), target.identity()
    fits, longer = ["MATCH", "*" + "é" * 511 + "x"], ["MATCH", "*" + "é" * 512]
    await store.command(few, "hset", "é" * 600, "v")
    store.same("what fits", await store.command(few, "hscan", 0, *fits), ["0", []])
    await store.refused("command", 400, key=few, command="hscan", args=[0, *longer])
    fields = [f"{number:04}{'x' * 196}" for number in range(100)]  # 20,000 bytes
    await store.command(many, "hmset", *(item for each in fields for item in (each, "v")))
    for length, holds in ((1000, True), (1001, False)):
        pattern = "?" * (length - 1) + "*"
        if holds:
            store.same("what fits", await store.command(many, "hscan", 0, "MATCH", pattern), ["0", []])
        else:
            await store.refused("command", 400, key=many, command="hscan", args=[0, "MATCH", pattern])


@check("KEY-CMD-5", "invalid options of hscan, srandmember and spop are refused")
async def wrong_options(target: Target) -> None:
    store, fields, members = Keystore(target), target.identity(), target.identity()
    await store.command(fields, "hset", "f", "v")
    await store.command(members, "sadd", "a", "b")
    number, syntax = "ERR value is not an integer or out of range", "ERR syntax error"
    for key, name, args, reason in (
        (fields, "hscan", [0, "COUNT", "x"], number),
        (fields, "hscan", [0, "COUNT", "1.5"], number),
        (fields, "hscan", [0, "COUNT", 0], syntax),
        (fields, "hscan", [0, "COUNT", -1], syntax),
        (fields, "hscan", [0, "COUNT"], syntax),
        (fields, "hscan", [0, "LIMIT", 1], syntax),
        (members, "srandmember", ["x"], number),
        (members, "srandmember", ["1.5"], number),
        (members, "srandmember", [1, 2], syntax),
        (members, "srandmember", [-100_001], "ERR value is out of range, value must between"),
        (members, "spop", ["x"], "ERR value is out of range, must be positive"),
        (members, "spop", [-1], "ERR value is out of range, must be positive"),
        (members, "spop", [1, 2], syntax),
    ):
        text = await store.refused("command", 400, key=key, command=name, args=args)
        expect.true(f"error of {name} {args}", text.startswith(reason), text, store.last)
    store.same("members", await store.command(members, "smembers"), ["a", "b"])


@check("KEY-CMD-3", "srandmember and spop draw from all members, and as many as requested")
async def drawn(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    letters = ["a", "b", "c", "d", "é"]
    await store.command(key, "sadd", *letters)
    repeated = await store.command(key, "srandmember", -150)
    store.same("how many", len(repeated), 150)
    store.same("of which members", sorted({*repeated}), letters)  # one is missing with a probability of 1e-14
    store.same("draws of nothing", await store.command(f"{key} none", "srandmember", -100_000), [])
    for count in (None, 2):
        given = {"command": "srandmember", "key": key, "args": [] if count is None else [count]}
        calls = [{"service": "Keystore", "operation": "command", "parameters": given}] * 150
        draws = [each["result"].get("value") for each in await store.ask("POST", "/calls", json=calls)]
        taken = [[each] if count is None else sorted({*each}) for each in draws]
        expect.equal("members of a draw", {len(each) for each in taken}, {count or 1}, store.last)
        store.same("of which members", sorted({each for some in taken for each in some}), letters)
    for count, wanted in ((0, []), (5, letters), (9, letters)):
        store.same(f"a draw of {count}", sorted(await store.command(key, "srandmember", count)), wanted)
    store.same("none of nothing", await store.command(f"{key} none", "srandmember", -3), [])
    store.same("one of nothing", await store.command(f"{key} none", "srandmember"), None)
    store.same("none of nothing", await store.command(f"{key} none", "spop", 3), [])
    store.same("one of nothing", await store.command(f"{key} none", "spop"), None)
    taken = await store.command(key, "spop", 0)
    store.same("a draw of 0", taken, [])
    taken = [*await store.command(key, "spop", 2), await store.command(key, "spop")]
    left = await store.command(key, "smembers")
    store.same("what is taken and left", sorted([*taken, *left]), letters)
    store.same("how many are left", len(left), 2)
    store.same("the rest", sorted(await store.command(key, "spop", 5)), left)
    store.same("the key", await store.command(key, "exists"), 0)


@check("KEY-CMD-5", "incrbyfloat takes numbers up to the longest, the largest and the smallest")
async def longest_numbers(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for held, amount in (
        ("0." + "1" * 3998, "1"),
        ("1", "0" * 3999 + "1"),
        ("1e3999", "0"),
        ("1", "-1e3999"),
        ("1", "1e-4951"),
        ("-1e-4951", "1"),
    ):
        await store.set(key, held)
        await store.command(key, "incrbyfloat", amount)
    await store.set(key, "1")
    for wrong in (
        "0." + "1" * 3999,
        "0" * 4000 + "1",
        "1e4000",
        "-1e4000",
        "1e-4952",
        "1e99999999999999999999",
    ):
        await store.refused("command", 400, key=key, command="incrbyfloat", args=[wrong])
        await store.set(f"{key} held", wrong)
        await store.refused("command", 400, key=f"{key} held", command="incrbyfloat", args=[1])
        await store.refused("command", 400, key=f"{key} hash", command="hincrbyfloat", args=["f", wrong])
    store.same("what get gives", await store.get(key), "1")
