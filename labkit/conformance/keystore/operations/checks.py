"""Keystore: calls from scripts, and the parameters and results of its operations. Every check uses its own keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import WITNESS, Keystore, Probe, decoded
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


NUMBER = 3_141_592_653_589  # that no other check stores


# ---- calls


@check("KEY-CALL-1", "a script calls operations with a table, and the call returns their result")
async def called(target: Target) -> None:
    probe, key = Probe(target), target.identity()
    response = await probe.request("PUT", f"/notes/{key}", content="a note")
    expect.equal("what set gave", decoded(expect.status(response, 200)), {"failed": False}, response)
    probe.same("what get gives", await probe.ask("GET", f"/notes/{key}"), {"note": "a note"})
    probe.same("what delete gives", await probe.ask("DELETE", f"/notes/{key}"), {"kind": "table"})
    probe.same("what get gives", await probe.ask("GET", f"/notes/{key}"), {})
    kind, sum = await probe.call("Keystore", "command", {"key": key, "command": "incrby", "args": [3]})
    probe.same("what command gives", [kind, sum], ["table", {"value": 3}])


@check("KEY-CALL-2", "a call that fails returns type, error and status; unknown parameters are ignored")
async def failing_calls(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for operation, parameters, missing in (
        ("get", {}, "key"),
        ("set", {"key": key}, "value"),
        ("delete", {"nokey": key}, "key"),
        ("command", {"key": key, "args": [1]}, "command"),
        ("command", {"command": "incrby", "args": [1]}, "key"),
    ):
        text = await store.refused(operation, 400, **parameters)
        store.same("error", text, f"Parameter {missing} is required.")
    await store.done("set", key=key, value="v", unheard="of", Key="other")
    store.same("value", await store.get(key), "v")


@check("KEY-CALL-3", "a list as parameters returns an error, and parameters that are no table raise one")
async def wrong_tables(target: Target) -> None:
    probe, key = Probe(target), target.identity()
    for parameters in ([key], [{"key": key}], [1, 2]):
        kind, result = await probe.call("Keystore", "get", parameters)
        expect.equal("what get gives", kind, "table", probe.last)
        given = {name: result.get(name) for name in ("type", "status")}
        probe.same("error", given, {"type": "QueryError", "status": 400})
    for scalar in (key, 1, True):
        response = await probe.request("POST", "/call/Keystore/get", json=scalar)
        text = decoded(expect.status(response, 500)).get("error", "")
        expect.true("the error gives the reason", "arguments must be a table" in text, text, response)


@check("KEY-CALL-4", "two solutions with one key each have a value of their own")
async def solutions_apart(target: Target) -> None:
    ours, theirs, key = Keystore(target), Keystore(target, WITNESS), target.identity()
    await ours.set(key, "ours")
    theirs.same("what the other solution gets", await theirs.get(key), None)
    theirs.same("what it lists", (await theirs.done("list", match=key)).get("keys"), [])
    await theirs.set(key, "theirs")
    ours.same("what the first one gets", await ours.get(key), "ours")
    await theirs.command(key, "append", "!")
    await theirs.done("delete", key=key)
    await theirs.set(key, "theirs again")
    await theirs.call("Keystore", "clear", {"match": key})
    theirs.same("what is left of the other's", await theirs.get(key), None)
    ours.same("what the first one gets", await ours.get(key), "ours")


@check("KEY-CALL-5", "a key has 1 to 200 printable characters")
async def keys(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    good = [key.ljust(200, "x"), f"{key} é漢:@.-_*?[]{{}}%", f"{key}/\\\"'"]
    for each in good:
        await store.set(each, each)
        store.same("value", await store.get(each), each)
    for each in ("", key.ljust(201, "x"), f"{key}\n", f"{key}\x00", f"\t{key}"):
        await store.refused("set", 400, key=each, value="v")
        await store.refused("get", 400, key=each)
        await store.refused("delete", 400, key=each)
        await store.refused("command", 400, key=each, command="incrby", args=[1])
        for command in ("del", "exists"):  # their arguments are keys, too
            await store.refused("command", 400, key=good[0], command=command, args=[good[1], each])
    store.same("how many are left", await store.command(good[0], "exists", *good[1:]), len(good))


@check("KEY-CALL-6", "the journal names unknown parameters", needs={"journal"})
async def unknown_parameters(target: Target) -> None:
    store, name = Keystore(target), f"x{target.identity()}".replace("-", "")
    await store.done("set", key=target.identity(), value="v", vaule="w", **{name: 1})
    written = await target.journaled_calls("Keystore.set")
    expect.true("an unknown parameter is named", f"'{name}': None" in written, "nothing")
    expect.true("with the one that was meant", "'vaule': 'value'" in written, "nothing")


@check("KEY-CALL-7", "the journal has the lengths of values instead of the values", needs={"journal"})
async def lengths(target: Target) -> None:
    store, key, value = Keystore(target), target.identity(), f"value of {target.identity()}"
    await store.set(key, value)
    await store.done("mset", values=[{"key": key, "value": value}])
    await store.done("mset", values={key: value})
    await store.command(f"{key}-list", "lpush", value)
    await store.done("command", key=f"{key}-text", command="append", args=value)
    await store.set(f"{key}-number", NUMBER)
    for wrong in (value, [value]):
        await store.refused("mset", 400, values=wrong)
    written = await target.journaled_calls("Keystore.")
    expect.true("the journal has the key", key in written, "nothing")
    for each in (value, str(NUMBER)):
        expect.true("the journal has the length", f"<{len(each)} characters>" in written, "nothing")
        expect.true("the journal has no value", each not in written, "a value")


# ---- get, set, delete


@check("KEY-GET-1", "get returns the value that set stored")
async def get(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for value in ("hello", " é 漢\n\t\"'\\ ", "21.50", '{"a": [1]}', ""):
        await store.set(key, value)
        store.same("what get gives", await store.done("get", key=key), {"value": value})


@check("KEY-GET-2", "get of a missing key has no value, and is no error")
async def get_nothing(target: Target) -> None:
    store = Keystore(target)
    result = await store.done("get", key=target.identity())
    store.same("what get gives", result.get("value"), None)


@check("KEY-SET-1", "set stores a value, and replaces an existing one")
async def set_again(target: Target) -> None:
    store, key, other = Keystore(target), target.identity(), target.identity()
    await store.set(other, "other")
    for value in ("first", "second", "first"):
        await store.done("set", key=key, value=value)
        store.same("value", await store.get(key), value)
    store.same("value of another key", await store.get(other), "other")


@check("KEY-SET-2", "a set that fails returns a status, and leaves the key unchanged")
async def failing_set(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    await store.set(key, "before")
    for value in ({"a": 1}, [1, 2]):
        result = await store.table("set", key=key, value=value)
        expect.true("what set gives has a status", result.get("status") is not None, result, store.last)
        store.same("value", await store.get(key), "before")


@check("KEY-SET-3", "set takes text, numbers and booleans; get returns text")
async def values(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for value, text in ((5, "5"), (-7, "-7"), (1.5, "1.5"), (True, "true"), (False, "false"), ("5", "5")):
        await store.set(key, value)
        store.same(f"value after {value!r}", await store.get(key), text)
    for wrong in ({"value": {"a": 1}}, {"value": [1]}, {}):
        await store.refused("set", 400, key=key, **wrong)


@check("KEY-SET-4", "set ends an expiry; incrby and lpush leave it")
async def expiry_and_set(target: Target) -> None:
    store, count, items = Keystore(target), target.identity(), target.identity()
    await store.set(count, 1)
    await store.command(items, "lpush", "a")
    for key, command in ((count, "incrby"), (items, "lpush")):
        await store.command(key, "expire", 1000)
        await store.command(key, command, 1)
        left = await store.command(key, "ttl")
        holds = isinstance(left, int) and 900 < left <= 1000
        expect.true(f"after {command} the key still ends", holds, left, store.last)
    await store.set(count, 1)
    store.same("ttl after set", await store.command(count, "ttl"), -1)


@check("KEY-DEL-1", "after delete the key is gone")
async def delete(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    await store.set(key, "5")
    await store.done("delete", key=key)
    store.same("what get gives", (await store.done("get", key=key)).get("value"), None)
    store.same("what incrby gives", await store.command(key, "incrby", 2), 2)
    await store.done("delete", key=key)
    await store.command(key, "lpush", "a")
    await store.done("delete", key=key)
    store.same("what lrange gives", await store.items(key), [])


@check("KEY-DEL-2", "delete of a missing key is no error")
async def delete_nothing(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    await store.done("delete", key=key)
    store.same("what get gives", await store.get(key), None)


# ---- command


@check("KEY-CMD-1", "command runs the named command on the key, with its arguments")
async def command(target: Target) -> None:
    store, key, other = Keystore(target), target.identity(), target.identity()
    plays: tuple[tuple[str, list[object], object], ...] = (
        ("lpush", ["b"], 1),
        ("lpush", ["a"], 2),
        ("lrange", [0, 1], ["a", "b"]),
        ("lrange", [1, 1], ["b"]),
        ("ltrim", [1, 1], "OK"),
        ("lrange", [0, -1], ["b"]),
    )
    for name, args, result in plays:
        found = await store.done("command", key=key, command=name, args=args)
        store.same(f"what {name} gives", found, {"value": result})
    found = await store.done("command", key=other, command="incrby", args=[4])
    store.same("what incrby gives", found, {"value": 4})


@check("KEY-CMD-2", "the name of a command counts in any letter case; others are refused")
async def names_of_commands(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for sum, name in enumerate(("incrby", "INCRBY", "IncrBy"), 1):
        store.same(f"what {name} gives", await store.command(key, name, 1), sum)
    for name in ("nonsense", "keys", "flushall", "eval", "rename", "incrby ", "", "config"):
        await store.refused("command", 400, key=key, command=name, args=[])
    store.same("value", await store.get(key), "3")


@check("KEY-CMD-4", "results keep their type")
async def kinds(target: Target) -> None:
    store = Keystore(target)
    text, items, fields = target.identity(), target.identity(), target.identity()
    for key, name, args, result in (
        (text, "set", ["5"], {"value": "OK"}),
        (text, "incrby", [1], {"value": 6}),
        (text, "get", [], {"value": "6"}),
        (text, "strlen", [], {"value": 1}),
        (items, "lpop", [], {}),
        (items, "rpush", ["1", "b"], {"value": 2}),
        (items, "rpush", [7, True], {"value": 4}),
        (items, "lrange", [0, -1], {"value": ["1", "b", "7", "true"]}),
        (items, "lindex", [7], {}),
        (fields, "hgetall", [], {"value": {}}),
        (fields, "hset", ["a", 1], {"value": 1}),
        (fields, "hset", ["b", ""], {"value": 1}),
        (fields, "hgetall", [], {"value": {"a": "1", "b": ""}}),
        (fields, "hget", ["c"], {}),
        (fields, "hmget", ["a", "c", "b", "d"], {"value": ["1", None, "", None]}),
    ):
        found = await store.done("command", key=key, command=name, args=args)
        store.same(f"what {name} gives", found, result)


@check("KEY-CMD-5", "a command that Redis refuses returns an error with Redis' text")
async def refused_commands(target: Target) -> None:
    store, text, items = Keystore(target), target.identity(), target.identity()
    await store.set(text, "no number")
    await store.command(items, "lpush", "a")
    wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value"
    for key, name, args, reason in (
        (text, "incrby", [1], "ERR value is not an integer or out of range"),
        (text, "incrby", ["x"], "ERR value is not an integer or out of range"),
        (text, "incrby", [], "ERR wrong number of arguments for 'incrby' command"),
        (text, "incrby", [1, 2], "ERR wrong number of arguments for 'incrby' command"),
        (text, "lpush", ["a"], wrong_type),
        (text, "hget", ["a"], wrong_type),
        (items, "get", [], wrong_type),
        (items, "incrby", [1], wrong_type),
        (items, "lset", [9, "x"], "ERR index out of range"),
        (items, "set", ["x", "nonsense"], "ERR syntax error"),
        (items, "zrevrange", [0, -1, "BYSCORE"], "ERR syntax error"),
        (text, "decrby", [str(-(2**63))], "ERR decrement would overflow"),
    ):
        found = await store.refused("command", 400, key=key, command=name, args=args)
        store.same(f"error of {name}", found, reason)
    store.same("the text", await store.get(text), "no number")
    store.same("the list", await store.items(items), ["a"])


@check("KEY-CMD-6", "a key that loses its last member is removed")
async def emptied(target: Target) -> None:
    store = Keystore(target)
    for put, args, take, member in (
        ("lpush", ["a"], "lpop", []),
        ("lpush", ["a"], "rpop", []),
        ("lpush", ["a"], "lrem", [0, "a"]),
        ("sadd", ["a"], "srem", ["a"]),
        ("sadd", ["a"], "spop", []),
        ("hset", ["a", 1], "hdel", ["a"]),
        ("zadd", [1, "a"], "zrem", ["a"]),
        ("zadd", [1, "a"], "zremrangebyrank", [0, -1]),
    ):
        key = target.identity()
        await store.command(key, put, *args)
        store.same(f"exists after {put}", await store.command(key, "exists"), 1)
        await store.command(key, take, *member)
        store.same(f"exists after {take}", await store.command(key, "exists"), 0)
        store.same(f"type after {take}", await store.command(key, "type"), "none")


# ---- operations that the document does not use


@check("KEY-MORE-1", "mset, mget and mdelete take several keys")
async def several(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    one, two, three, none = (f"{key}-{name}" for name in ("one", "two", "three", "none"))
    await store.done("mset", values=[{"key": one, "value": "1"}, {"key": two, "value": 2}])
    await store.done("mset", values={three: "3", one: "first"})
    found = await store.done("mget", keys=[three, none, one, two, none])
    store.same("values", found, {"values": ["3", None, "first", "2", None]})
    await store.done("mdelete", keys=[one, none, three])
    found = await store.done("mget", keys=[one, two, three])
    store.same("values", found, {"values": [None, "2", None]})
    await store.command(three, "lpush", "a list")
    store.same("values", await store.done("mget", keys=[three, two]), {"values": [None, "2"]})
    twice = [{"key": one, "value": each} for each in ("a", "b", "c")]
    await store.done("mset", values=[*twice[:2], {"key": two, "value": 3}, twice[2]])
    await store.done("mdelete", keys=[three, three])
    store.same("values", await store.done("mget", keys=[one, two, three]), {"values": ["c", "3", None]})
    await store.set(two, 2)
    for operation, name in (("mset", "values"), ("mdelete", "keys")):
        await store.done(operation, **{name: []})
    store.same("values of no keys", await store.done("mget", keys=[]), {"values": []})
    store.same("value", await store.get(two), "2")


@check("KEY-MORE-2", "list gives all keys that contain match, page by page")
async def lists(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    names = [f"{number}-{key}-{'Odd' if number % 2 else 'even'}" for number in range(40)]
    await store.done("mset", values=[{"key": name, "value": 1} for name in names])
    odd = sorted(name for name in names if "Odd" in name)
    store.same("keys", sorted(await store.field("list", "keys", match=f"{key}-Odd")), odd)
    store.same("keys", await store.field("list", "keys", match=f"{key}-odd"), [])
    await store.set(f"{key} a*b[x]?", 1)
    store.same("keys", await store.field("list", "keys", match=f"{key} a*b[x"), [f"{key} a*b[x]?"])
    for pattern in (f"{key}*", f"{key}?a", f":{key}"):  # nor is a prefix that the store adds part of a key
        store.same("keys", await store.field("list", "keys", match=pattern), [])
    await store.done("delete", key=f"{key} a*b[x]?")
    found, pages, cursor = set[str](), 0, 0
    while pages == 0 or cursor:
        page = await store.done("list", match=key, cursor=cursor, count=7)
        found, pages, cursor = found.union(page.get("keys", ())), pages + 1, page.get("cursor", 0)
        expect.true("the pages end", pages <= 1000, pages, store.last)
    store.same("keys of all pages", sorted(found), sorted(names))
    expect.true("there are several pages", pages > 1, pages, store.last)
    await store.refused("list", 400, match=key, count=1001)


@check("KEY-MORE-3", "clear with match removes the matching keys alone; info counts keys and bytes")
async def clear_and_info(target: Target) -> None:
    store, key, kept = Keystore(target, WITNESS), target.identity(), target.identity()
    await store.set(kept, "kept")
    before = await store.field("info", "usage")
    await store.done("mset", values={f"{key}-{number}": "0123456789" for number in range(5)})
    after = await store.field("info", "usage")
    more = {name: after.get(name, 0) - before.get(name, 0) for name in ("keys", "size")}
    expect.equal("keys that came", more["keys"], 5, store.last)
    expect.true("they take bytes, at least those of the values", more["size"] >= 50, more, store.last)
    await store.call("Keystore", "clear", {"match": key})
    store.same("keys that are left", await store.field("list", "keys", match=key), [])
    store.same("another key", await store.get(kept), "kept")
    store.same("usage", await store.field("info", "usage"), before)


@check("KEY-MORE-6", "list and info say how many keys there are, and how many there may be")
async def usage_and_quota(target: Target) -> None:
    store, key = Keystore(target, WITNESS), target.identity()
    await store.done("mset", values={f"{key}-{number}": 1 for number in range(3)})
    info, listed = await store.done("info"), await store.done("list", match=f"{key}-1")
    store.same("quota.keys", info.get("quota"), {"keys": 2**32})
    store.same("quota of list", listed.get("quota"), info["quota"])
    store.same("usage of list", listed.get("usage"), {"keys": info["usage"]["keys"]})
    store.same("its keys", listed["keys"], [f"{key}-1"])


@check("KEY-MORE-3", "clear without match removes all keys of the solution", needs={"settings"})
async def clear_all(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    await store.set(key, "kept")
    solution = await target.in_lab(target.lab.solution, target.identity(), products=["content"])
    await target.in_lab(solution.Keystore.set, key="a", value=1)
    await target.in_lab(solution.Keystore.set, key="b", value=2)
    await target.in_lab(solution.Keystore.clear)
    info = await target.in_lab(solution.Keystore.info)
    expect.equal("usage after clear", info.get("usage"), {"keys": 0, "size": 0})
    store.same("what another solution kept", await store.get(key), "kept")


@model_check(
    "KEY-CMD-1 KEY-CMD-2 KEY-CMD-3 KEY-CMD-5 KEY-GET-1 KEY-GET-2 KEY-SET-1 KEY-SET-3 KEY-SET-4 KEY-DEL-1 KEY-DEL-2 "
    "KEY-INCR-1 KEY-INCR-2 KEY-INCR-3 KEY-EXP-1 KEY-EXP-2 KEY-EXP-3 KEY-LIST-1 KEY-LIST-2 KEY-LIST-3 KEY-MORE-1 "
    "KEY-MORE-2 KEY-MORE-3 KEY-CALL-4",
    "keys of two solutions under any commands in any order, as a model of Redis has them",
)
def model() -> type[Game]:
    """Return the game of the Keystore."""
    from labkit.conformance.keystore.operations.store import Store

    return Store
