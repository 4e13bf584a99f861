"""Keys of solutions whose ids could be confused."""

from __future__ import annotations

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import same
from labkit.conformance.target import Target
from labkit.lab.solution import Solution


@check("KEY-CALL-4", "solutions whose ids have a common prefix have separate keys", needs={"settings"})
async def names_that_begin_alike(target: Target) -> None:
    await target.in_lab(_begin_alike, target)


def _begin_alike(target: Target) -> None:
    name = target.identity()
    short, long = (target.lab.solution(each) for each in (name, f"{name}-2"))
    # Keys that begin with the rest of the longer id, and with possible separators of id and key.
    keys = ["k", "-2k", "-2:k", "-2/k", "-2|k", ":k", ":-2:k", "2k", "*", "-2*"]
    for solution in (short, long):
        for key in keys:
            same(f"{key} at first", solution.Keystore.get(key=key), {})
            solution.Keystore.set(key=key, value=f"{solution.id} {key}")
        _expect(short, keys)
    _expect(long, keys)
    for key in keys:
        same(
            f"length of the value of {key}",
            short.Keystore.command(command="strlen", key=key),
            {"value": len(f"{name} {key}")},
        )
    short.Keystore.command(command="del", key=keys[0], args=keys[1:])
    _expect(short, [])
    _expect(long, keys)
    short.Keystore.set(key="k", value="again")
    long.Keystore.clear()
    _expect(long, [])
    same("what clear elsewhere leaves", short.Keystore.get(key="k"), {"value": "again"})


def _expect(solution: Solution, keys: list[str]) -> None:
    expect.equal(f"keys of {solution.id}", sorted(solution.Keystore.list()["keys"]), sorted(keys))
    values = solution.Keystore.mget(keys=keys)["values"]
    expect.equal(f"values of {solution.id}", values, [f"{solution.id} {key}" for key in keys])
    same("how many keys info counts", solution.Keystore.info()["usage"]["keys"], len(keys))
