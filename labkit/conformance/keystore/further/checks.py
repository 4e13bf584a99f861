"""Keystore: commands beyond the platform's list, with the results that Redis gives.

A play is a sequence of commands; keys are `=a` and `=b`, also among the arguments and in results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import WITNESS, Keystore
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


Play = Sequence[tuple[str, str, Sequence[object], Any]]

STRINGS: Play = [
    ("mset", "=a", ("ohmytext", "=b", "mynewtext"), "OK"),
    ("mget", "=a", ("=b", "=c"), ["ohmytext", "mynewtext", None]),
    ("lcs", "=a", ("=b",), "mytext"),
    ("lcs", "=a", ("=b", "LEN"), 6),
    ("lcs", "=a", ("=b", "IDX"), {"matches": [[[4, 7], [5, 8]], [[2, 3], [0, 1]]], "len": 6}),
    (
        "lcs",
        "=a",
        ("=b", "IDX", "MINMATCHLEN", 4, "WITHMATCHLEN"),
        {"matches": [[[4, 7], [5, 8], 4]], "len": 6},
    ),
    ("msetnx", "=c", ("1", "=a", "2"), 0),
    ("mget", "=c", (), [None]),
    ("substr", "=a", (2, 3), "my"),
    ("setrange", "=a", (2, "y!"), 8),
    ("setrange", "=c", (2, "x"), 3),
    ("mget", "=c", (), ["\0\0x"]),
    ("getdel", "=c", (), "\0\0x"),
    ("getdel", "=c", (), None),
    ("getex", "=a", ("EX", 1000), "ohy!text"),
    ("persist", "=a", (), 1),
    ("getex", "=a", ("PX", 1_000_000), "ohy!text"),
    ("getex", "=a", ("PERSIST",), "ohy!text"),
    ("ttl", "=a", (), -1),
    ("expiretime", "=a", (), -1),
    ("expireat", "=a", (4_102_444_800,), 1),
    ("expiretime", "=a", (), 4_102_444_800),
    ("pexpiretime", "=a", (), 4_102_444_800_000),
    ("copy", "=a", ("=c",), 1),
    ("expiretime", "=c", (), 4_102_444_800),
    ("copy", "=b", ("=c",), 0),
    ("copy", "=b", ("=c", "REPLACE"), 1),
    ("rename", "=c", ("=a",), "OK"),
    ("mget", "=a", ("=c",), ["mynewtext", None]),
    ("ttl", "=a", (), -1),
    ("renamenx", "=a", ("=b",), 0),
    ("renamenx", "=a", ("=c",), 1),
    ("getex", "=c", ("EXAT", 4_102_444_800), "mynewtext"),
    ("expiretime", "=c", (), 4_102_444_800),
    ("touch", "=a", ("=b", "=c", "=b"), 3),
    ("getex", "=c", ("PXAT", 1), "mynewtext"),
    ("touch", "=c", (), 0),
    ("mset", "=c", ("x",), "OK"),
    ("unlink", "=a", ("=b", "=c"), 2),
]
BITS: Play = [
    ("setbit", "=a", (0, 1), 0),
    ("setbit", "=b", (9, 1), 0),
    ("bitop", "=c", ("OR", "=a", "=b"), 2),
    ("bitcount", "=c", (), 2),
    ("bitop", "=c", ("and", "=a", "=b"), 2),
    ("bitcount", "=c", (), 0),
    ("bitop", "=c", ("NOT", "=a"), 1),
    ("bitcount", "=c", (), 7),
    ("bitop", "=c", ("XOR", "=d", "=e"), 0),
    ("touch", "=c", (), 0),
    ("bitfield", "=c", ("INCRBY", "i5", 100, 1, "GET", "u4", 0), [1, 0]),
    ("bitfield", "=c", ("SET", "u8", "#1", 255), [0]),
    ("bitfield", "=c", ("OVERFLOW", "SAT", "INCRBY", "u8", 8, 5), [255]),
    ("bitfield_ro", "=c", ("GET", "u8", 8), [255]),
    ("strlen", "=c", (), 14),
]
LISTS: Play = [
    ("rpush", "=a", ("x", "y", "x", "z", "x"), 5),
    ("lpos", "=a", ("x",), 0),
    ("lpos", "=a", ("x", "RANK", -1), 4),
    ("lpos", "=a", ("x", "COUNT", 0), [0, 2, 4]),
    ("lpos", "=a", ("x", "COUNT", 2, "MAXLEN", 2), [0]),
    ("lpos", "=a", ("w",), None),
    ("rpoplpush", "=a", ("=b",), "x"),
    ("lmove", "=a", ("=b", "LEFT", "RIGHT"), "x"),
    ("lmove", "=b", ("=b", "left", "right"), "x"),
    ("lrange", "=b", (0, -1), ["x", "x"]),
    ("lmpop", "=c", (3, "=b", "=a", "LEFT", "COUNT", 5), ["=b", ["x", "x"]]),
    ("lmpop", "=c", (2, "=b", "RIGHT"), None),
    ("lrange", "=a", (0, -1), ["y", "x", "z"]),
    ("rpoplpush", "=c", ("=a",), None),
]
SETS: Play = [
    ("sadd", "=a", ("1", "2", "3"), 3),
    ("sadd", "=b", ("3", "4"), 2),
    ("smismember", "=a", ("1", "4", "3"), [1, 0, 1]),
    ("sunion", "=a", ("=b", "=c"), ["1", "2", "3", "4"]),
    ("sinter", "=a", ("=b",), ["3"]),
    ("sdiff", "=a", ("=b",), ["1", "2"]),
    ("sintercard", "=a", (2, "=b"), 1),
    ("sintercard", "=a", (1, "LIMIT", 2), 2),
    ("sunionstore", "=c", ("=a", "=b"), 4),
    ("sinterstore", "=c", ("=a", "=d"), 0),
    ("type", "=c", (), "none"),
    ("sdiffstore", "=c", ("=b", "=a"), 1),
    ("mset", "=e", ("text",), "OK"),
    ("sdiffstore", "=e", ("=a", "=b"), 2),
    ("type", "=e", (), "set"),
    ("smove", "=a", ("=c", "1"), 1),
    ("smove", "=a", ("=c", "1"), 0),
    ("sunion", "=c", (), ["1", "4"]),
    ("sscan", "=b", (0, "MATCH", "4*"), ["0", ["4"]]),
    ("sscan", "=d", (0,), ["0", []]),
]
SORTED: Play = [
    ("zadd", "=a", (1, "x", 2, "y", 3, "z"), 3),
    ("zadd", "=b", (10, "y", 20, "w"), 2),
    ("zmscore", "=a", ("z", "x"), ["3", "1"]),
    ("zunion", "=a", (2, "=b", "WITHSCORES"), ["x", "1", "z", "3", "y", "12", "w", "20"]),
    (
        "zunion",
        "=a",
        (2, "=b", "WEIGHTS", 2, 1, "AGGREGATE", "MAX", "WITHSCORES"),
        ["x", "2", "z", "6", "y", "10", "w", "20"],
    ),
    ("zinter", "=a", (2, "=b"), ["y"]),
    ("zdiff", "=a", (2, "=b", "WITHSCORES"), ["x", "1", "z", "3"]),
    ("zintercard", "=a", (2, "=b"), 1),
    ("zunionstore", "=c", (2, "=a", "=b"), 4),
    ("zinterstore", "=c", (2, "=a", "=b", "AGGREGATE", "MIN"), 1),
    ("zmscore", "=c", ("y",), ["2"]),
    ("zdiffstore", "=c", (2, "=a", "=b"), 2),
    ("zrangestore", "=d", ("=a", 0, 1, "REV"), 2),
    ("zrange", "=d", (0, -1), ["y", "z"]),
    ("mset", "=e", ("text",), "OK"),
    ("zrangestore", "=e", ("=a", 0, 1), 2),
    ("type", "=e", (), "zset"),
    ("zscan", "=d", (0, "MATCH", "z"), ["0", ["z", "3"]]),
    ("zpopmin", "=a", (), ["x", "1"]),
    ("zpopmax", "=a", (5,), ["z", "3", "y", "2"]),
    ("zpopmin", "=a", (), []),
    ("zmpop", "=a", (2, "=b", "MIN", "COUNT", 1), ["=b", ["y", "10"]]),
    ("zmpop", "=a", (1, "MAX"), None),
]

SORT: Play = [
    ("rpush", "=a", ("10", "9", "2.5"), 3),
    ("sort", "=a", (), ["2.5", "9", "10"]),
    ("sort", "=a", ("DESC", "LIMIT", 0, 2), ["10", "9"]),
    ("sort", "=a", ("ALPHA",), ["10", "2.5", "9"]),
    ("mset", "=w9", (3, "=w10", 1, "=w2.5", 2), "OK"),
    ("sort", "=a", ("BY", "=w*"), ["10", "2.5", "9"]),
    ("sort_ro", "=a", ("BY", "=none", "GET", "#", "GET", "=w*"), ["10", "1", "9", "3", "2.5", "2"]),
    ("hset", "=h9", ("f", "nine"), 1),
    ("sort", "=a", ("GET", "=h*->f", "STORE", "=b"), 3),
    ("lrange", "=b", (0, -1), ["", "nine", ""]),
    ("sadd", "=c", ("z", "y"), 2),
    ("sort", "=c", ("ALPHA", "STORE", "=c"), 2),
    ("type", "=c", (), "list"),
    ("sort", "=d", ("STORE", "=c"), 0),
    ("type", "=c", (), "none"),
]
PLACES: Play = [
    ("geoadd", "=a", ("13.361389", "38.115556", "Palermo", "15.087269", "37.502669", "Catania"), 2),
    ("geoadd", "=a", ("XX", "CH", "13.361389", "38.115556", "Palermo", 1, 1, "none"), 0),
    ("zmscore", "=a", ("Palermo", "none"), ["3479099956230698", None]),
    ("geodist", "=a", ("Palermo", "Catania"), "166274.1516"),
    ("geodist", "=a", ("Palermo", "Catania", "km"), "166.2742"),
    ("geodist", "=a", ("Palermo", "none"), None),
    ("geohash", "=a", ("Palermo", "Catania"), ["sqc8b49rny0", "sqdtr74hyu0"]),
    ("geosearch", "=a", ("FROMLONLAT", 15, 37, "BYRADIUS", 200, "km", "ASC"), ["Catania", "Palermo"]),
    (
        "geosearch",
        "=a",
        ("FROMLONLAT", 15, 37, "BYBOX", 400, 400, "km", "DESC", "WITHDIST"),
        [["Palermo", "190.4424"], ["Catania", "56.4413"]],
    ),
    ("georadius", "=a", (15, 37, 100, "km", "WITHHASH"), [["Catania", 3479447370796909]]),
    ("georadiusbymember", "=a", ("Palermo", 100, "mi", "COUNT", 1), ["Palermo"]),
    ("geopos", "=a", ("Palermo", "none"), [["13.361389338970184", "38.1155563954963"], None]),
    ("georadiusbymember_ro", "=a", ("Catania", 1, "ft", "WITHDIST"), [["Catania", "0.0000"]]),
    ("georadius_ro", "=a", (15, 37, 200, "km", "COUNT", 1), ["Catania"]),
    ("georadius", "=a", (15, 37, 200, "km", "STORE", "=b"), 2),
    ("geohash", "=b", ("Catania",), ["sqdtr74hyu0"]),
    ("geosearchstore", "=b", ("=a", "FROMMEMBER", "Palermo", "BYRADIUS", 1, "m", "STOREDIST"), 1),
    ("zunion", "=b", (1, "WITHSCORES"), ["Palermo", "0"]),
    ("geosearchstore", "=b", ("=c", "FROMMEMBER", "Palermo", "BYRADIUS", 1, "m"), 0),
    ("type", "=b", (), "none"),
]
DISTINCT: Play = [
    ("pfadd", "=a", ("x", "y", "x"), 1),
    ("pfadd", "=a", ("y",), 0),
    ("pfcount", "=a", (), 2),
    ("pfadd", "=b", (), 1),
    ("pfadd", "=b", (), 0),
    ("pfcount", "=b", ("=c",), 0),
    ("pfadd", "=b", ("y", "ü"), 1),
    ("pfcount", "=a", ("=b", "=c"), 3),
    ("pfmerge", "=c", ("=a", "=b"), "OK"),
    ("pfcount", "=c", (), 3),
    ("pfmerge", "=c", (), "OK"),
    ("type", "=c", (), "string"),
    ("pfadd", "=d", tuple(range(1000)), 1),
    ("pfcount", "=d", (), 1001),
]


@check("KEY-FURTHER-1 KEY-FURTHER-2", "texts, bits, lists, sets and sorted sets, also of several keys")
async def plays(target: Target) -> None:
    for each in (STRINGS, BITS, LISTS, SETS, SORTED, SORT, PLACES, DISTINCT):
        await _play(target, each)


@check("KEY-FURTHER-2", "another tenant's keys of the same names have no part in them")
async def tenants(target: Target) -> None:
    store, other, prefix = Keystore(target), Keystore(target, WITNESS), target.identity()
    for each, items in ((store, ("1", "2")), (other, ("2", "3"))):
        await each.command(f"{prefix} a", "sadd", *items)
        await each.command(f"{prefix} z", "zadd", 1, items[0])
    await other.command(f"{prefix} b", "sadd", "4")
    store.same("union", await store.command(f"{prefix} a", "sunion", f"{prefix} b"), ["1", "2"])
    store.same("scores", await store.command(f"{prefix} b", "zunion", 2, f"{prefix} z"), ["1"])
    for each, weights in ((store, ("5", "6")), (other, ("8", "7"))):
        await each.command(f"{prefix} w1", "mset", weights[0], f"{prefix} w2", weights[1])
    by = ("BY", f"{prefix} w*", "GET", f"{prefix} w*")
    store.same("sorted", await store.command(f"{prefix} a", "sort", *by), ["5", "6"])
    await other.command(f"{prefix} c", "sadd", "1", "2")
    other.same("sorted", await other.command(f"{prefix} c", "sort", *by), ["7", "8"])
    await store.command(f"{prefix} a", "rename", f"{prefix} b")
    await store.command(f"{prefix} b", "unlink", f"{prefix} z")
    other.same("the other's", await other.command(f"{prefix} a", "sunion", f"{prefix} b"), ["2", "3", "4"])
    other.same("the other's", await other.command(f"{prefix} z", "touch"), 1)


@check("KEY-FURTHER-1", "draws are of existing members")
async def draws(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    fields = {f"f{number}": str(number) for number in range(6)}
    await store.command(key, "hset", *(each for pair in fields.items() for each in pair))
    await store.command(
        f"{key} z", "zadd", *(each for name, number in fields.items() for each in (number, name))
    )
    store.same("all fields", sorted(await store.command(key, "hrandfield", 10)), sorted(fields))
    found = await store.command(key, "hrandfield", 3, "WITHVALUES")
    pairs = dict(zip(found[::2], found[1::2], strict=True))
    expect.true("three fields with their values", len(pairs) == 3 and pairs.items() <= fields.items(), found)
    found = await store.command(f"{key} z", "zrandmember", -20)
    expect.true("twenty members", len(found) == 20 and {*found} <= fields.keys(), found)
    expect.true("one member", await store.command(f"{key} z", "zrandmember") in fields, found)
    store.same("nothing", await store.command(f"{key} none", "hrandfield"), None)


@check("KEY-FURTHER-1", "commands that a solution may not use are refused")
async def not_offered(target: Target) -> None:
    store, key = Keystore(target), target.identity()
    for command in (
        "blpop bzpopmin brpoplpush eval fcall multi exec watch subscribe publish keys scan randomkey flushall "
        "flushdb hexpire swapdb select move migrate dump restore config info client xadd xread "
        "wait object"
    ).split():
        await store.refused("command", 400, command=command, key=key, args=["x"])


@check("KEY-FURTHER-3 KEY-FURTHER-4", "a command that is refused changes no key")
async def refused(target: Target) -> None:
    store, prefix = Keystore(target), target.identity()
    text, items, none = (f"{prefix} {each}" for each in ("text", "items", "none"))
    await store.set(text, "x")
    await store.command(items, "rpush", "1")
    for key, command, args in (
        (items, "rpoplpush", (text,)),
        (items, "lmove", (none, "LEFT", "MIDDLE")),
        (items, "smove", (none, "1")),
        (none, "sunionstore", (items, text)),
        (none, "zunionstore", (2, items, text)),
        (none, "zunionstore", ("two", items, text)),
        (none, "rename", (text,)),
        (text, "copy", (none, "DB", 1)),
        (text, "copy", (text,)),
        (none, "mset", ("1", text)),
        (none, "mset", ("1", "", "2")),
        (none, "bitop", ("AND", items)),
        (none, "bitop", ("NOT", text, text)),
        (text, "bitfield", ("SET", "u8", 0, 1, "SET", "u64", 0, 1)),
        (text, "bitfield", ("SET", "u8", 2**23, 1)),
        (text, "bitfield_ro", ("SET", "u8", 0, 1)),
        (text, "setrange", (2**20, "x")),
        (text, "getex", ("EX", 0)),
        (items, "hrandfield", (-100_001,)),
        (text, "pfadd", ("x",)),
        (text, "sort", ("STORE", none)),
        (items, "sort", ("GET", none, "STORE")),
        (none, "geoadd", (181, 0, "x")),
        (none, "geoadd", (1, 1, "x", 1, 86, "y")),
        (none, "geosearchstore", (items, "FROMLONLAT", 1, 1, "BYRADIUS", 1, "m")),
        (none, "georadius", (1, 1, -1, "m", "STORE", text)),
        (none, "georadius", (1, 1, 1, "mm", "STORE", text)),
        (items, "sort", ("ALPHABET", "STORE", none)),
        (none, "pfmerge", (none, text)),
    ):
        await store.refused("command", 400, command=command, key=key, args=list(args))
    store.same("the text", await store.get(text), "x")
    store.same("its end", await store.command(text, "ttl"), -1)
    store.same("the items", await store.items(items), ["1"])
    store.same("what is not there", await store.command(none, "touch"), 0)
    await store.command(none, "rpush", *range(5_000))
    await store.refused(
        "command", 400, command="sort", key=none, args=[*("GET", "none*") * 200, "STORE", items]
    )
    store.same("the items", await store.items(items), ["1"])
    await store.set(text, "x" * 1_500)
    await store.refused("command", 400, command="lcs", key=text, args=[text])


@check("KEY-FURTHER-3", "what a command did to several keys is there after a power cut", needs={"settings"})
async def restarted(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_over_power_cuts, Path(folder) / "lab.db")


def _over_power_cuts(file: Path) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, data=file, solutions=[{"id": "one"}]) as lab:
        keystore = lab.solution("one").Keystore

        def run(key: str, command: str, *args: object) -> Any:
            found = keystore.command(key=key, command=command, args=[*args])
            expect.true(f"{command} is no error", "error" not in found, found)
            return found.get("value")

        run("a", "rpush", "x", "y")
        run("b", "sadd", "1", "2")
        run("b", "expire", 1000)
        run("a", "rpoplpush", "c")
        run("b", "copy", "d")
        run("d", "smove", "e", "1")
        run("b", "rename", "f")
        run("g", "mset", "1", "h", "2", "j", "3")
        run("j", "getex", "EX", 500)
        run("f", "sort", "DESC", "STORE", "i")
        for _ in range(2):
            lab.restart()
            expect.equal("lists", [run(each, "lrange", 0, -1) for each in "ac"], [["x"], ["y"]])
            expect.equal("sets", [run(each, "sunion") for each in "bdef"], [[], ["2"], ["1"], ["1", "2"]])
            expect.equal("texts", run("g", "mget", "h"), ["1", "2"])
            expect.equal("sorted", run("i", "lrange", 0, -1), ["2", "1"])
            expect.equal("seconds left", [run(each, "ttl") for each in "defgj"], [1000, -1, 1000, -1, 500])


async def _play(target: Target, play: Play) -> None:
    store, prefix = Keystore(target), f"{target.identity()} "

    def named(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [named(each) for each in value]
        return prefix + value[1:] if isinstance(value, str) and value[:1] == "=" else value

    for command, key, args, expected in play:
        found = await store.command(named(key), command, *named(args))
        what = f"what {command} {key} {' '.join(map(str, args))} gives"
        store.same(what, [] if found == {} and expected == [] else found, named(expected))


@model_check(
    "KEY-FURTHER-1 KEY-FURTHER-2 KEY-FURTHER-3",
    "commands on several keys of two tenants, with the same names, as a model has them",
)
def model() -> type[Game]:
    """Return the game of commands on several keys."""
    from labkit.conformance.keystore.further.tenants import TwoTenants

    return TwoTenants
