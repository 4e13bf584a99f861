"""Keystore: keys after a restart. The check starts a lab of its own, with a data file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.lab.lab import Lab

LASTING, ENDING = 10_000, 100  # seconds
CONTENTS: dict[
    str, tuple[tuple[object, ...], tuple[object, ...], object]
] = {  # write command, read command, value read
    "text é": (("set", "a\0é😀"), ("get",), "a\0é😀"),
    "count": (("incrby", -5), ("get",), "-5"),
    "bits": (("setbit", 12, 1), ("bitpos", 1), 12),
    "byte": (("setbit", 0, 1), ("strlen",), 1),  # a byte that is no UTF-8
    "list": (("rpush", "a", "", "a"), ("lrange", 0, -1), ["a", "", "a"]),
    "set": (("sadd", "b", "a"), ("smembers",), ["a", "b"]),
    "hash": (("hmset", "f", "1", "é", ""), ("hgetall",), {"f": "1", "é": ""}),
    "sorted": (
        ("zadd", "1.5", "a", "-inf", "b"),
        ("zrange", 0, -1, "withscores"),
        ["b", "-inf", "a", "1.5"],
    ),
}


@check(
    "KEY-MORE-4",
    "keys of all types, and their expiry, over restarts with and without a regular end",
    needs={"settings"},
)
async def restarted(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_over_restarts, Path(folder) / "lab.db")


def _over_restarts(file: Path) -> None:
    with _lab(file) as lab:
        for prefix, seconds in (("", None), ("lasting ", LASTING), ("ending ", ENDING)):
            for name, (write, _, _) in CONTENTS.items():
                _run(lab, prefix + name, *write)
                if seconds is not None:
                    _run(lab, prefix + name, "expire", seconds)
        _run(lab, "removed", "set", "x")
        _run(lab, "removed", "del")
        _run(lab, "lasting kept", "setex", LASTING, "x")
        _run(lab, "lasting kept", "persist")
        lab.restart()
        _compare(lab, "", "lasting ", "ending ")
    for _ in range(2):
        with _lab(file) as lab:
            _compare(lab, "", "lasting ", "ending ")
    with _lab(file) as lab:
        lab.clock.advance(ENDING + 1)
        _compare(lab, "", "lasting ")
    with _lab(file) as lab:
        _compare(lab, "", "lasting ")
        lab.clock.advance(LASTING + 1)
        lab.restart()
        _compare(lab, "")
        members = [str(number) for number in range(60)]
        for key, count in (("one by one", ()), ("many", (30,))):
            _run(lab, key, "sadd", *members)
            for _ in range(1 if count else 30):
                _run(lab, key, "spop", *count)
        left = [_run(lab, key, "smembers") for key in ("one by one", "many")]
        expect.equal("how many members are left", [len(each) for each in left], [30, 30])
        lab.restart()
        found = [_run(lab, key, "smembers") for key in ("one by one", "many")]
        expect.equal("members that are left", found, left)
        lab.solution("other").Keystore.set(key="theirs", value="x")
        lab.reset()
        for name in ("one", "other"):
            expect.equal(f"keys of {name} after a reset", lab.solution(name).Keystore.list()["keys"], [])


def _lab(file: Path) -> Lab:
    from labkit.lab.lab import Lab

    return Lab(1, data=file, solutions=[{"id": "one"}, {"id": "other"}])


def _compare(lab: Lab, *prefixes: str) -> None:
    """Raise Mismatch unless exactly the keys with these prefixes exist, with their values and expiry."""
    for prefix in prefixes:
        for name, (_, read, wanted) in CONTENTS.items():
            expect.equal(f"what is under {prefix}{name}", _run(lab, prefix + name, *read), wanted)
            left = _run(lab, prefix + name, "ttl")
            most = {"": -1, "lasting ": LASTING, "ending ": ENDING}[prefix]
            expect.true(f"{prefix}{name} ends as it was to", left == most or 0 <= left <= most, left)
    expect.equal("ttl of what was kept", _run(lab, "lasting kept", "ttl"), -1)
    found = lab.solution("one").Keystore.list(count=1000)["keys"]
    wanted_keys = [prefix + name for prefix in prefixes for name in CONTENTS]
    expect.equal("keys", sorted(found), sorted([*wanted_keys, "lasting kept"]))
    expect.equal("keys of another", lab.solution("other").Keystore.list()["keys"], [])


def _run(lab: Lab, key: str, command: object, *args: object) -> Any:
    found = lab.solution("one").Keystore.command(key=key, command=command, args=[*args])
    expect.true(f"{command} is no error", "error" not in found, found)
    return found.get("value")
