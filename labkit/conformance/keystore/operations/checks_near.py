"""Keys with equal names in two solutions, and near misses of existing keys."""

from __future__ import annotations

from labkit.conformance import expect, twins
from labkit.conformance.check import check
from labkit.conformance.near_misses import EMPTY, near_misses
from labkit.conformance.probe import Keystore
from labkit.conformance.target import Target
from labkit.conformance.twins import MARKS, Act, Twin, act

KEYS = ("count", "counted", "Count", "list", "set")


def command(key: str, name: str, *args: object) -> Act:
    """Return an act that runs a command on a key."""
    return act("Keystore.command", "keys", key=key, command=name, args=list(args))


VIEWS = {
    "keys": [
        act("Keystore.mget", keys=list(KEYS[:3])),
        act("Keystore.get", key="count"),
        act("Keystore.list", match="count"),
        act("Keystore.info"),
        *(act("Keystore.command", key=key, command="ttl") for key in KEYS),
        act("Keystore.command", key="list", command="lrange", args=[0, -1]),
        act("Keystore.command", key="set", command="smembers"),
    ]
}
STORY = [
    act("Keystore.set", "keys", key="count", value="§"),
    act("Keystore.set", "keys", key="count", value=5),
    command("count", "incrby", 3),
    act("Keystore.set", "keys", key="counted", value="of §"),
    act("Keystore.mset", "keys", values=[{"key": "Count", "value": "§"}]),
    command("list", "lpush", "a", "§"),
    command("list", "lpush", "b"),
    command("list", "ltrim", 0, 1),
    command("set", "sadd", "z§", "b"),
    command("count", "EXPIRE", 100),
    command("list", "expireat", 4_000_000_000),
    command("count", "persist"),
    act("Keystore.delete", "keys", key="count"),
    command("count", "incrby", 1),
    act("Keystore.mdelete", "keys", keys=["Count"]),
    command("list", "expire", 0),
    act("Keystore.clear", "keys", match="counted"),
    act("Keystore.clear", "keys"),
    act("Keystore.set", "keys", key="count", value="again"),
]


@check("KEY-CALL-4", "two solutions may have keys of the same names, which stay separate", needs={"settings"})
async def namesakes(target: Target) -> None:
    await target.in_lab(_namesakes, target)


def _namesakes(target: Target) -> None:
    name = target.identity().replace("-", "")
    one, other = (Twin(target.lab.solution(f"{name}{mark}"), mark) for mark in MARKS)
    twins.play((one, other), STORY, VIEWS)


@check("KEY-GET-1 KEY-SET-1 KEY-DEL-1 KEY-CMD-1", "near misses of a key neither read, change nor remove it")
async def near_keys(target: Target) -> None:
    keystore, key = Keystore(target), f"{target.identity()}-Ab"
    await keystore.set(key, "mine")
    wrong = [each for _, each in near_misses(key, but=EMPTY)]
    for each in wrong:
        expect.equal("a key that is nearly the same", await keystore.get(each), None, keystore.last)
        expect.equal("its removal", await keystore.command(each, "del"), 0, keystore.last)
        expect.equal("its time", await keystore.command(each, "expire", 1), 0, keystore.last)
    for each in wrong:
        await keystore.set(each, f"of {each}")
    for each in wrong:
        expect.equal("the value of each", await keystore.get(each), f"of {each}", keystore.last)
        await keystore.done("delete", key=each)
        expect.equal("the value after that", await keystore.get(key), "mine", keystore.last)
