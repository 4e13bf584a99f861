"""Limits of deployed platforms, such as requests a second, which the setting `limits` turns on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.probe import same
from labkit.conformance.solutions.product.checks import in_folder, lab, warned

if TYPE_CHECKING:
    from labkit.lab.lab import Lab
    from labkit.lab.solution import Solution

ENDLESS = {"slice": "while true do end", "calls": "while true do Keystore.get{key = 'a'} end"}


def solutions(own: Lab) -> tuple[Solution, Solution]:
    """Return two solutions, each with a route and a websocket that answers with the message."""
    found = own.solution("one"), own.solution("other")
    for each in found:
        each.route("GET", "/a", lua="return 1")
        each.route("WEBSOCKET", "/live", lua="return websocketInfo.message")
    return found


def statuses(solution: Solution, count: int) -> list[int]:
    """Send a number of requests, and return their statuses."""
    return [solution.get("/a").status_code for _ in range(count)]


def write(solution: Solution, name: str, count: int) -> None:
    """Store a number of points of a metric, one for each second."""
    points = [{"metrics": {name: 1}, "ts": f"{1_700_000_000 + at}s"} for at in range(count)]
    solution.Tsdb.multiWrite(datapoints=points)


def rows(solution: Solution, *names: str, **given: Any) -> Any:
    """Return the values of a query of all times."""
    return solution.Tsdb.query(metrics=[*names], start_time="0s", **given)["values"]


def told(own: Lab, limit: str) -> None:
    """Compare the last call of the journal: refused, and its hint, which the log shows, names the limit."""
    record = own.journal.select("call")[-1]
    hint = str((record.detail or {}).get("hint"))
    expect.true(f"403 by {limit}", record.status == 403 and limit in hint, record)


@in_folder("SOL-LIM-1", "requests to a solution in a second")
def requests(root: Path) -> None:
    with lab(limits="published") as own:
        one, other = solutions(own)
        same("statuses", statuses(one, 101), [200] * 100 + [429])
        reason = (own.journal.select("request")[-1].detail or {}).get("reason")
        expect.true("a reason with the limit", "limits.solution_requests" in str(reason), reason)
        same("of another solution", statuses(other, 1), [200])
        own.clock.advance(seconds=1)
        same("a second later", statuses(one, 1), [200])
        one.Config.setParameters(service="Config", parameters={"rate_limit": 2})
        own.clock.advance(seconds=1)
        same("with a rate of its own", statuses(one, 3), [200, 200, 429])


@in_folder("SOL-LIM-2", "messages of a websocket in a second")
def messages(root: Path) -> None:
    with lab(limits="published") as own:
        one, _ = solutions(own)
        with one.websocket("/live") as first, one.websocket("/live") as second:
            for number in range(7):
                first.send(str(number))
            same("answers", [first.receive() for _ in range(5)], [*"01234"])
            second.send("on another")
            same("the answer on another connection", second.receive(), "on another")
            own.settle()
            same("warnings", warned(one).count("limits.websocket_messages"), 2)
            own.clock.advance(seconds=1)
            first.send("later")
            same("the next answer", first.receive(), "later")


@in_folder("SOL-LIM-3", "rows of a query")
def points(root: Path) -> None:
    with lab(limits="published") as own:
        one, _ = solutions(own)
        write(one, "a", 1001)
        write(one, "b", 1000)
        same("rows of all", len(rows(one, "b")), 1000)
        same("warnings without rows left out", warned(one), "")
        same("rows", len(rows(one, "a")), 1000)
        same("rows of both", [len(each) for each in rows(one, "a", "b", mode="split").values()], [1000, 1000])
        same("warnings", warned(one).count("limits.tsdb_points"), 2)
        same("rows with limit", len(rows(one, "a", limit=10_000)), 1001)


@in_folder("SOL-LIM-4", "age of points")
def ages(root: Path) -> None:
    with lab(limits="published") as own:
        one, other = solutions(own)
        other.Config.setParameters(service="Tsdb", parameters={"default_retention": "infinity"})
        for each in (one, other):
            each.Tsdb.write(metrics={"a": 1})
        own.clock.advance(days=89.9)
        same("young points", [len(rows(each, "a")) for each in (one, other)], [1, 1])
        same("warnings before", warned(one), "")
        own.clock.advance(days=1.1)
        same("old points", [len(rows(each, "a")) for each in (one, other)], [0, 1])
        expect.true("a warning", "limits.tsdb_days" in warned(one), warned(one))
        same("warnings of another", warned(other), "")


@in_folder("SOL-LIM-5", "mails of a day")
def mails(root: Path) -> None:
    start = "2026-01-01T12:00:00Z"
    with lab(limits="published", start=start) as own:
        same("quota by `published`", own.solution("one").Email.getSettings()["quota"], {"daily": 100})
    for data in (None, root / "lab.db"):
        with lab(limits={"daily_mails": 2}, data=data, start=start) as own:
            _mails(own, durable=data is not None)


def _mails(own: Lab, *, durable: bool) -> None:
    one, other = own.solution("one"), own.solution("other")

    def send(solution: Solution) -> Any:
        return solution.Email.send(to="ann@example.com", subject="x").get("status")

    def full(title: str) -> None:
        sent = len(own.mailbox)
        same(title, send(one), 403)
        told(own, "limits.daily_mails")
        same("mails in the mailbox", len(own.mailbox), sent)

    same("quota", one.Email.getSettings()["quota"], {"daily": 2})
    same("two mails", [send(one), send(one)], [None, None])
    full("a third")
    same("a mail of another solution", send(other), None)
    before = None if durable else own.snapshot()
    own.restart()
    full("after a power cut")
    own.clock.advance(hours=11.9)
    full("before midnight")
    own.clock.advance(hours=0.2)
    same("after midnight", [send(one), one.Email.getSettings()["usage"]], [None, {"daily": 1}])
    if before is not None:
        own.restore(before)
        full("in the snapshot")
    own.reset()
    same("after a reset", send(one), None)


@in_folder("SOL-LIM-6", "keys of a solution")
def keys(root: Path) -> None:
    with lab(limits="published") as own:
        same("quota by `published`", own.solution("one").Keystore.info()["quota"], {"keys": 10_000})
    with lab(limits={"keystore_keys": 2}) as own:
        one, other = own.solution("one").Keystore, own.solution("other").Keystore
        same("two keys", [one.set(key=key, value=1) for key in "ab"], [{}, {}])
        more: dict[str, dict[str, Any]] = {
            "set": {"key": "c", "value": 1},
            "mset": {"values": {"a": 2, "c": 1}},
            "command": {"key": "c", "command": "rpush", "args": [1]},
        }
        for operation, given in more.items():
            same(f"{operation} of a third", getattr(one, operation)(**given).get("status"), 403)
            told(own, "limits.keystore_keys")
        same("nothing changed", [one.get(key=key) for key in "ac"], [{"value": "1"}, {}])
        same("a key that is there", one.set(key="a", value=2), {})
        same("a key of another solution", other.set(key="a", value=1), {})
        one.delete(key="b")
        same("in place of one that is deleted", one.set(key="c", value=1), {})


@in_folder("SOL-LIM-7", "computing of a run")
def computing(root: Path) -> None:
    for settings, of_slice, of_calls in (
        ({}, "0.05 s between two service calls (guard.script_cpu)", "0.25 s (guard.script_cpu)"),
        ({"limits": {"script_cpu": 0.4}}, "0.4 s between", "0.4 s (limits.script_cpu)"),
    ):
        with lab(guard={"script_cpu": 0.05}, **settings) as own:
            solution = own.solution("one")
            for (name, lua), text in zip(ENDLESS.items(), (of_slice, of_calls), strict=True):
                solution.route("GET", f"/{name}", lua=lua)
                answer = solution.get(f"/{name}")
                expect.equal("status", answer.status_code, 504)
                expect.true("the limit", text in answer.text, answer.text)


@in_folder("SOL-LIM-8", "no limit without the setting")
def unlimited(root: Path) -> None:
    for settings in ({}, {"profile": "field"}):
        with lab(**settings) as own:
            one, _ = solutions(own)
            same("statuses", statuses(one, 101), [200] * 101)
            with one.websocket("/live") as socket:
                for number in range(6):
                    socket.send(str(number))
                same("answers", [socket.receive() for _ in range(6)], [*"012345"])
            write(one, "a", 1001)
            own.clock.advance(days=91)
            same("rows", len(rows(one, "a", end_time="1800000000s")), 1001)
            same("quota of keys", one.Keystore.info()["quota"], {"keys": 2**32})
            expect.true("quota of mails", one.Email.getSettings()["quota"]["daily"] > 10**6, "less")
