"""Timer: when timers fire, what handlers get, two solutions apart, bounds, and what power cuts and snapshots leave."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
from labkit.conformance.probe import PROBE, WITNESS, Probe, Service, events_of, same
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game
    from labkit.lab.lab import Lab


KEEP = "Keystore.command({key = 'fired', command = 'rpush', args = {request.timer_id}})"
MOST = 10_000
SET: dict[str, object] = {"result": "ok"}
LONGEST = 100 * 366 * 86_400_000  # milliseconds


class Timers(Service):
    """The timers of a solution. to: name under which the probe keeps their events."""

    def __init__(self, target: Target, solution: str = PROBE) -> None:
        super().__init__(target, "Timer", solution)
        self._target = target
        self._solution = solution
        self.to = target.identity()

    async def after(self, duration: int, name: str, **more: object) -> None:
        """Set a timer of this name, whose message says where its event is kept."""
        await self.done(
            "sendAfter", duration=duration, timer_id=self.id(name), message={"to": self.to, **more}
        )

    async def interval(self, duration: int, name: str, **more: object) -> None:
        """Set an interval of this name."""
        given = {"duration": duration, "timer_id": self.id(name), "message": {"to": self.to, **more}}
        await self.done("sendInterval", **given)

    def id(self, name: str) -> str:
        """Return the timer_id of a name."""
        return f"{self.to} {name}"

    async def fired(self, count: int = 0) -> list[str]:
        """Return the names of the timers that have fired, at least `count`, in order."""
        events = await events_of(self._target, self.to, count, self._solution)
        return [each["event"]["request"]["timer_id"].removeprefix(f"{self.to} ") for each in events]

    async def listed(self) -> list[str]:
        """Return the names of the timers of this check that are set, in order."""
        ids = await self.field("list", "list", limit=MOST)
        return [each.removeprefix(f"{self.to} ") for each in ids if each.startswith(self.to)]


@check("SOL-TIMER-1", "a timer that is set fires once, with its message", needs={"clock"})
async def once(target: Target) -> None:
    timers = Timers(target)
    message = {"to": timers.to, "list": [1, 2.5, "é", {"a": False}]}
    given = {"duration": 1500, "message": message, "timer_id": timers.id("a")}
    same("what sendAfter gives", await timers.done("sendAfter", **given), SET | {"timer_id": timers.id("a")})
    await target.advance(1.25)
    expect.equal("events before its time", await timers.fired(), [])
    await target.advance(0.25)
    [event] = await events_of(target, timers.to, 1)
    seen = event["event"]
    wanted = {"message": message, "timer_id": timers.id("a"), "solution_id": PROBE}
    same("request", seen["request"], wanted)
    same("message", seen["message"], wanted)
    context = {name: seen["context"][name] for name in ("solution_id", "service", "event")}
    same("context", context, {"solution_id": PROBE, "service": "timer", "event": "timer"})
    await target.advance(5)
    expect.equal("events later", await timers.fired(), ["a"])


@check("SOL-TIMER-1", "a timer without an id or a message gets an id of its own")
async def made_ids(target: Target) -> None:
    timers = Service(target, "Timer")
    ids = [await timers.field("sendAfter", "timer_id", duration=10**9) for _ in range(2)]
    ids.append(await timers.field("sendInterval", "timer_id", duration=10**9))
    for each in ids:
        expect.true("a made id is a text", isinstance(each, str) and len(each) >= 16, each)
        await timers.done("cancel", timer_id=each)
    expect.equal("number of ids", len(set(ids)), 3)


@check(
    "SOL-TIMER-2",
    "an interval fires after each duration, also if the clock moves far at once",
    needs={"clock"},
)
async def intervals(target: Target) -> None:
    timers = Timers(target)
    await timers.interval(2000, "two")
    await timers.interval(1000, "one")
    await target.advance(4)
    await timers.done("cancel", timer_id=timers.id("one"))
    expect.equal("what has fired", await timers.fired(), ["one", "two", "one", "one", "two", "one"])
    await target.advance(100)
    expect.equal("how often", len(await timers.fired()), 56)
    await timers.done("cancel", timer_id=timers.id("two"))
    await target.advance(10)
    expect.equal("how often once it is cancelled", len(await timers.fired()), 56)


@check("SOL-TIMER-2", "an interval below a tenth of a second is refused")
async def short_intervals(target: Target) -> None:
    timers = Timers(target)
    for duration in (99, 99.9, 0, -1000, "x", True, None):
        await timers.refused("sendInterval", 400, duration=duration, timer_id=timers.id("a"))
    expect.equal("what is set", await timers.listed(), [])


@check(
    "SOL-TIMER-9", "timers that are set say so, and an interval may last a tenth of a second", needs={"clock"}
)
async def as_published(target: Target) -> None:
    timers = Timers(target)
    for operation, duration in (("sendAfter", 10**9), ("sendInterval", 100)):
        given = {"duration": duration, "timer_id": timers.id(operation), "message": {"to": timers.to}}
        same(
            f"what {operation} gives",
            await timers.done(operation, **given),
            SET | {"timer_id": given["timer_id"]},
        )
    await target.advance(1)
    expect.equal("what has fired", await timers.fired(), ["sendInterval"] * 10)
    await timers.done("cancel", timer_id=timers.id("sendInterval"))
    await timers.done("cancel", timer_id=timers.id("sendAfter"))


@check("SOL-TIMER-10", "operations of which there is the name alone say so")
async def known_by_name(target: Target) -> None:
    timers = Timers(target)
    for operation in ("retime", "batchRetime", "getEvents"):
        text = await timers.refused(operation, 404)
        expect.true(f"the error of {operation} says so", "known by name only" in text, text, timers.last)


@check("SOL-TIMER-3", "cancel, cancelAll, list, and timers that are set anew", needs={"clock"})
async def cancelled(target: Target) -> None:
    timers = Timers(target)
    same("cancel", await timers.done("cancel", timer_id=f"{timers.to} unknown"), {"result": "ok"})
    await timers.after(3000, "c")
    await timers.after(1000, "a")
    await timers.after(2000, "b")
    await timers.after(5000, "a")
    expect.equal("what is set", await timers.listed(), ["b", "c", "a"])
    await timers.done("cancel", timer_id=timers.id("c"))
    await target.advance(6)
    expect.equal("what has fired", await timers.fired(), ["b", "a"])
    await timers.interval(1000, "own", cancel=True)
    await timers.after(1000, "again", again=1000)
    await target.advance(5)
    expect.equal("what handlers left", (await timers.fired())[2:], ["own", "again", "again"])
    for name in "xyz":
        await timers.after(1000, name)
    same("cancelAll", await timers.done("cancelAll"), {"result": "ok"})
    await target.advance(5)
    expect.equal("what has fired then", (await timers.fired())[5:], [])
    same("list", await timers.done("list"), {"list": [], "timers": [], "result": "ok"})


@check("SOL-TIMER-1", "messages of all types, and a duration with a fraction", needs={"settings", "clock"})
async def odd_messages(target: Target) -> None:
    solution = await target.in_lab(target.lab.solution, target.identity())
    shown = "to_json({request.message, request.message == nil})"
    keep = f"Keystore.command({{key = 'fired', command = 'rpush', args = {{{shown}}}}})"
    await target.in_lab(lambda: solution.on("timer", "timer", lua=keep))
    for number, message in enumerate((False, 0, "", 2.5, [1, False], {"a": {}})):
        await target.in_lab(solution.Timer.sendAfter, duration=number, message=message)
    await target.in_lab(solution.Timer.sendAfter, duration=1999.6)
    await target.advance(1.999)
    found = await target.in_lab(_fired, target.lab, solution.id)
    wanted = [
        "[false,false]",
        "[0,false]",
        '["",false]',
        "[2.5,false]",
        "[[1,false],false]",
        '[{"a":{}},false]',
    ]
    expect.equal("what has fired", found, [wanted])
    await target.advance(0.001)
    expect.equal(
        "what has fired", len((await target.in_lab(_fired, target.lab, solution.id))[0]), len(wanted) + 1
    )


@check("SOL-TIMER-4", "two solutions have timers with the same ids", needs={"clock"})
async def apart(target: Target) -> None:
    ours, theirs = Timers(target), Timers(target, WITNESS)
    theirs.to = ours.to
    await ours.after(1000, "é 漢")
    await theirs.after(3000, "é 漢")
    await theirs.after(1000, "b")
    await ours.after(1000, "b")
    await ours.done("cancel", timer_id=ours.id("b"))
    await target.advance(2)
    same("what has fired", [await ours.fired(), await theirs.fired()], [["é 漢"], ["b"]])
    await ours.done("cancelAll")
    await target.advance(2)
    same("what has fired", [await ours.fired(), await theirs.fired()], [["é 漢"], ["b", "é 漢"]])


@check("SOL-TIMER-5", "of one moment the timer that was set first fires first", needs={"clock"})
async def in_order(target: Target) -> None:
    timers = Timers(target)
    await timers.interval(1000, "interval")
    for name in "bacd":
        await timers.after(3000, name)
    await timers.after(3000, "b")
    await target.advance(1)
    await timers.after(2000, "e")
    await target.advance(2)
    await timers.done("cancel", timer_id=timers.id("interval"))
    wanted = ["interval", "interval", "interval", "a", "c", "d", "b", "e"]
    expect.equal("what has fired", await timers.fired(), wanted)


@check("SOL-TIMER-6", "bounds of messages, ids and durations")
async def bounds(target: Target) -> None:
    timers = Timers(target)
    good = {"duration": 10**9, "timer_id": timers.id("a"), "message": 1}
    wrongs: tuple[dict[str, Any], ...] = (
        {"message": "x" * 8192},
        {"message": {"x": ["x" * 4000, "x" * 4192]}},
        {"message": [1] * 8192},
        {"timer_id": ""},
        {"timer_id": timers.to.ljust(201, "x")},
        {"timer_id": [1]},
        *({"duration": each} for each in (-1, LONGEST + 1, 10**13, "soon", True, None)),
    )
    for wrong in wrongs:
        await timers.refused("sendAfter", 400, **{**good, **wrong})
    expect.equal("what is set", await timers.listed(), [])
    longest = timers.to.ljust(200, "x")
    await timers.done("sendAfter", duration=LONGEST, timer_id=longest, message="x" * 8191)
    expect.equal("what is set", await timers.listed(), [longest])
    await timers.done("cancel", timer_id=longest)


@check("SOL-TIMER-6", "the most timers of a solution", needs={"settings"})
async def most(target: Target) -> None:
    one = await target.in_lab(target.lab.solution, target.identity())
    other = await target.in_lab(target.lab.solution, target.identity())
    lua = f"for number = 1, {MOST} do Timer.sendAfter({{duration = 1e9, timer_id = tostring(number)}}) end"
    await target.in_lab(lambda: one.route("POST", "/fill", lua=lua))
    await target.in_lab(one.post, "/fill")
    refused = await target.in_lab(lambda: one.Timer.sendAfter(duration=1, timer_id="more"))
    expect.equal("status of one more", refused.get("status"), 403)
    for own, name in ((one, "7"), (other, "more")):
        found = await target.in_lab(
            lambda own=own, name=name: own.Timer.sendAfter(duration=10**9, timer_id=name)
        )
        expect.equal("what sendAfter gives", found, SET | {"timer_id": name})
    listed = await target.in_lab(lambda: one.Timer.list(limit=MOST))
    expect.equal("how many are set", len(listed["list"]), MOST)
    await target.in_lab(lambda: one.Timer.cancel(timer_id="7"))
    found = await target.in_lab(lambda: one.Timer.sendAfter(duration=10**9, timer_id="more"))
    expect.equal("what sendAfter gives instead of another", found, SET | {"timer_id": "more"})
    for own in (one, other):
        await target.in_lab(own.Timer.cancelAll)


# ---- power cuts, data files, snapshots


@check("SOL-TIMER-7", "timers over power cuts and restarts on a data file", needs={"settings"})
async def over_restarts(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_over_restarts, Path(folder))


def _over_restarts(folder: Path) -> None:
    for data in (None, folder / "lab.db"):
        with _lab(folder, data) as lab:
            _over_power_cuts(lab)
    with _lab(folder, data) as lab:
        lab.settle()
        expect.equal("what fires at a start", _fired(lab)[0][3:], [])
        lab.clock.advance(seconds=8)
        expect.equal("what fires then", _fired(lab)[0][3:], ["interval"])
        lab.solution("one").Timer.cancel(timer_id="interval")
        lab.solution("other").Timer.sendAfter(duration=1000, timer_id="b")
        lab.solution("other").Timer.cancelAll()
    with _lab(folder, data) as lab:
        lab.clock.advance(days=1)
        wanted = [["interval", "b", "interval", "interval", "z", "a", "m"], ["a"]]
        expect.equal("what fires at last", _fired(lab), wanted)
        expect.equal("what is set", lab.solution("one").Timer.list()["list"], [])


def _over_power_cuts(lab: Lab) -> None:
    one, other = lab.solution("one"), lab.solution("other")
    for name in "zam":  # all of one moment
        one.Timer.sendAfter(duration=90_000, timer_id=name, message={"a": [1]})
    one.Timer.sendInterval(duration=10_000, timer_id="interval")
    other.Timer.sendAfter(duration=15_000, timer_id="a")
    one.Timer.sendAfter(duration=15_000, timer_id="b")
    lab.restart()
    lab.clock.advance(seconds=12)
    expect.equal("what has fired", _fired(lab), [["interval"], []])
    lab.restart(down=20.5)  # up at 32.5
    lab.clock.advance(seconds=20)
    expect.equal("what has fired without power", _fired(lab), [["interval"], []])
    lab.clock.advance(seconds=1)
    expect.equal("what fires with power again", _fired(lab), [["interval", "b", "interval"], ["a"]])


def _lab(folder: Path, data: Path | None) -> Lab:
    from labkit.lab.lab import Lab

    handler = folder / "solution" / "services" / "timer_timer.lua"
    handler.parent.mkdir(parents=True, exist_ok=True)
    handler.write_text(KEEP)
    solutions = [{"id": name, "path": str(folder / "solution")} for name in ("one", "other")]
    return Lab(1, data=data, solutions=solutions)


def _fired(lab: Lab, *names: str) -> list[Any]:
    found = [
        lab.solution(name).Keystore.command(key="fired", command="lrange", args=[0, -1])
        for name in names or ("one", "other")
    ]
    return [each["value"] for each in found]


@check(
    "SOL-TIMER-4 SOL-TIMER-8", "timers of a snapshot, of a reset, of a removed solution", needs={"settings"}
)
async def snapshots(target: Target) -> None:
    await target.in_lab(_snapshots)


def _snapshots() -> None:
    from labkit.lab.lab import Lab

    with Lab(1) as lab:
        for name in ("one", "other"):
            lab.solution(name).on("timer", "timer", lua=KEEP)
            lab.solution(name).Timer.sendInterval(duration=3000, timer_id="interval")
            lab.solution(name).Timer.sendAfter(duration=6000, timer_id="once")
        lab.clock.advance(seconds=4)
        lab.solution("other").Timer.cancel(timer_id="once")
        snapshot = lab.snapshot()
        for _ in range(2):
            lab.clock.advance(seconds=5)
            found = [["interval", "interval", "once", "interval"], ["interval"] * 3]
            expect.equal("what has fired", _fired(lab), found)
            lab.solution("one").Timer.cancelAll()
            lab.solution("other").Timer.sendAfter(duration=1000, timer_id="later")
            lab.restore(snapshot)
        lab.reset()
        lab.clock.advance(seconds=10)
        expect.equal("what fires after a reset", _fired(lab), [[], []])


@check("SOL-TIMER-1", "timers of several scripts at the same time", needs={"clock"})
async def several(target: Target) -> None:
    timers = Timers(target)
    probe = Probe(target)
    given = [
        {"duration": 1000, "timer_id": timers.id(str(number)), "message": {"to": timers.to}}
        for number in range(20)
    ]
    await asyncio.gather(*(probe.call("Timer", "sendAfter", each) for each in given))
    await target.advance(1)
    expect.equal("what has fired", sorted(await timers.fired(20)), sorted(map(str, range(20))))


@model_check(
    "SOL-TIMER-1 SOL-TIMER-2 SOL-TIMER-3 SOL-TIMER-4 SOL-TIMER-5",
    "timers of two solutions that are set, cancelled and fire, as a model has them",
    needs={"clock"},
)
def model() -> type[Game]:
    """Return the game of timers."""
    from labkit.conformance.solutions.timers.timers import Timers

    return Timers
