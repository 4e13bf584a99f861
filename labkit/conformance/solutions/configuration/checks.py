"""Configuration files of services: schedules of timers, retention of points, rates, headers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.probe import same
from labkit.conformance.solutions.files.checks_folders import GOOD, Files, write_folder
from labkit.conformance.solutions.product.checks import error, in_folder, lab, warned

if TYPE_CHECKING:
    from labkit.lab.solution import Solution

TIMER = "services/timer.yaml"
ALLOW = "Access-Control-Allow-Origin"
KEEP = """
local fired = {request.timer_id, request.message, os.date("!%Y-%m-%d %H")}
Keystore.command{key = "fired", command = "rpush", args = {table.concat(fired, " ")}}
Keystore.set{key = "solution", value = request.solution_id}
"""
WRONG = {
    TIMER: "\nschedule: {hourly: 1}",
    "services/tsdb.yaml": "default_retention: 1d\nmetrics_retention: {a: 3 months}",
    "services/config.yaml": "auto_update: true\nrate_limit: 0",
}


def scheduled(root: Path, *words: str) -> Path:
    """Return the folder `s` of a solution with a schedule, in which the given words are on."""
    files: Files = {TIMER: f"schedule: {{{', '.join(f'{word}: true' for word in words)}}}\n",
                    "services/timer_timer.lua": KEEP}  # fmt: skip
    for name, text in files.items():
        (root / "s/services").mkdir(parents=True, exist_ok=True)
        (root / "s" / name).write_text(str(text))
    return root / "s"


def fired(solution: Solution, *, but: str = "none") -> list[str]:
    """Return id, message and hour of the timers that fired, in order, without those of a word."""
    found = solution.Keystore.command(key="fired", command="lrange", args=[0, -1])["value"]
    return [each for each in found if but not in each]


@in_folder("SOL-CONFIG-1", "hours, days, Mondays, months and years of a schedule")
def schedules(root: Path) -> None:
    with lab(start="2026-12-31T22:30:00Z") as own:
        path = scheduled(root, "hourly", "daily", "weekly", "monthly", "yearly")
        solution = own.solution("s", path=path)
        own.clock.advance(hours=2)
        wanted = [
            f"schedule.{word} {word} 2027-01-01 00" for word in ("hourly", "daily", "monthly", "yearly")
        ]
        expect.equal("what fires first", sorted(fired(solution)),
                     sorted(["schedule.hourly hourly 2026-12-31 23", *wanted]))  # fmt: skip
        own.clock.advance(days=63)
        expect.equal(
            "how often an hour fires", sum("hourly" in each for each in fired(solution)), 2 + 63 * 24
        )
        weeks = [each for each in fired(solution) if "weekly" in each]
        same(
            "the first Mondays",
            weeks[:2],
            [f"schedule.weekly weekly 2027-01-{day} 00" for day in ("04", "11")],
        )
        expect.equal("how many Mondays", len(weeks), 9)
        months = [each[-13:] for each in fired(solution) if "monthly" in each]
        same("months", months, ["2027-01-01 00", "2027-02-01 00", "2027-03-01 00"])
        same("solution_id", solution.Keystore.get(key="solution"), {"value": "s"})


@in_folder("SOL-CONFIG-2", "what leaves a schedule alone, and what ends it")
def kept(root: Path) -> None:
    path = scheduled(root, "hourly", "daily")
    settings: dict[str, Any] = {
        "start": "2026-03-01T00:30:00Z",
        "solutions": [{"id": "s", "path": str(path)}],
    }
    for data in (None, root / "lab.db"):
        with lab(data=data, **settings) as own:
            solution = own.solution("s")
            same("what is listed", solution.Timer.list()["timers"], [])
            solution.Timer.cancelAll()
            solution.Timer.sendAfter(duration=1000, timer_id="schedule.hourly", message="own")
            own.clock.advance(hours=1)
            wanted = ["schedule.hourly own 2026-03-01 00", "schedule.hourly hourly 2026-03-01 01"]
            same("what fires", fired(solution), wanted)
            own.restart(down=3.1 * 3600)
            own.clock.advance(hours=3.2)
            same(
                "what fires once there is power",
                fired(solution)[2:],
                ["schedule.hourly hourly 2026-03-01 04"],
            )
            scheduled(root, "hourly")
            solution.reload()
            own.clock.advance(days=1)
            expect.equal("without a day", len(fired(solution, but="hourly")), 0)
            expect.equal("hours", len(fired(solution)), 3 + 24)
            scheduled(root, "hourly", "daily")
    with lab(data=root / "lab.db", **{**settings, "start": "2026-03-05T00:30:00Z"}) as own:
        own.settle()
        expect.equal("what fires once the lab is there again", len(fired(own.solution("s"))), 3 + 24 + 1)
    with lab(**settings) as own:
        snapshot = own.snapshot()
        for act in (partial(own.restore, snapshot), own.reset, own.close):
            own.clock.advance(hours=2)
            expect.equal("what fires from a snapshot or a reset on", len(fired(own.solution("s"))), 2)
            act()


@in_folder("SOL-CONFIG-3", "timers by the calendar")
def calendar(root: Path) -> None:
    with lab(start="2027-01-31T10:00:00Z") as own:
        solution = own.solution("s", path=scheduled(root))
        call = solution.Timer.schedule
        for wrong in ({}, {"hourly": True, "daily": True}, {"hourly": False}, {"daily": "yes"}, [1]):
            expect.equal(f"status of {wrong}", call(schedule=wrong).get("status"), 400)
        made = call(schedule={"monthly": True}, timer_id="m", message="a", duration=1)
        same("what schedule gives", made, {"timer_id": "m", "result": "ok"})
        call(schedule={"yearly": True}, timer_id="y", message="a")
        call(schedule={"weekly": True, "daily": False}, timer_id="w", message="a")
        [first, *_] = solution.Timer.list()["timers"]
        same("what is listed", {key: first[key] for key in ("timer_id", "schedule", "interval")},
             {"timer_id": "w", "schedule": "weekly", "interval": True})  # fmt: skip
        own.clock.advance(days=7)
        same("what fires first", fired(solution), ["w a 2027-02-07 10"])
        solution.Timer.cancel(timer_id="w")
        own.clock.advance(days=82)
        wanted = [f"m a 2027-{day} 10" for day in ("02-28", "03-31", "04-30")]
        same("months", fired(solution)[1:], wanted)
        solution.Timer.cancel(timer_id="m")
        own.clock.advance(days=365)
        same("years", fired(solution)[4:], ["y a 2028-01-31 10"])


@in_folder("SOL-CONFIG-4", "how long points are kept")
def retention(root: Path) -> None:
    text = "default_retention: 2d\nmetrics_retention: {long: 1w, other: default, all: infinity}\n"
    with lab() as own:
        files: Files = {"services/tsdb.yaml": text}
        short = own.solution("short", path=write_folder(root, "short", files))
        long = own.solution("long")
        metrics = {"a": 1, "other": 1, "long": 1, "all": 1}
        for each in (short, long):
            each.Tsdb.write(metrics=metrics, tags={"of": "device"})
        own.clock.advance(days=1.9)
        expect.equal("metrics before", sorted(short.Tsdb.listMetrics()["metrics"]), sorted(metrics))
        short.Tsdb.write(metrics={"a": 2})
        own.clock.advance(hours=4)
        same("metrics after two days", sorted(short.Tsdb.listMetrics()["metrics"]), ["a", "all", "long"])
        same("points after two days", values(short, "a"), [2])
        own.clock.advance(days=6)
        same("metrics after a week", short.Tsdb.listMetrics()["metrics"], ["all"])
        same("tags after a week", short.Tsdb.listTags()["tags"], {"of": ["device"]})
        own.clock.advance(days=400)
        for each, name in ((short, "all"), (long, "a")):
            same("points that are kept", values(each, name), [1])
        short.Tsdb.write(metrics={"a": 3}, ts=f"{int(own.clock.now.timestamp()) - 40 * 86_400}s")
        own.clock.advance(hours=1)
        same("metrics after a late point", short.Tsdb.listMetrics()["metrics"], ["all"])
        files = {"services/tsdb.yaml": "recent_function_disable: true\n"}
        disabled = own.solution("disabled", path=write_folder(root, "disabled", files))
        expect.equal("status of recent", disabled.Tsdb.recent(metrics=["a"]).get("status"), 403)
        expect.true("another solution has recent", "values" in long.Tsdb.recent(metrics=["a"]), "none")


def values(solution: Solution, metric: str) -> list[Any]:
    """Return the values of a metric, of all times."""
    found = solution.Tsdb.query(metrics=[metric], start_time="0s")["values"]
    return [row[1] for row in found]


@in_folder("SOL-CONFIG-5", "requests of a solution in a second")
def rate(root: Path) -> None:
    with lab() as own:
        files: Files = {"services/config.yaml": "rate_limit: 3\n", "assets/a.txt": "a", **GOOD}
        solution = own.solution("s", path=write_folder(root, "s", files))
        paths = ("/a", "/a.txt", "/nowhere", "/a")
        for _ in range(2):
            same("statuses", [solution.get(path).status_code for path in paths], [200, 200, 404, 429])
            own.clock.advance(seconds=1)
        solution.Config.setParameters(service="Config", parameters={"rate_limit": 1})
        same("statuses then", [solution.get("/a").status_code for _ in range(2)], [200, 429])
        own.solution("other").route("GET", "/a", lua="return 1")
        expect.equal(
            "of another solution", {own.solution("other").get("/a").status_code for _ in range(9)}, {200}
        )


@in_folder("SOL-CONFIG-6", "headers, api_info, keys without an effect, wrong values")
def others(root: Path) -> None:
    with lab() as own:
        text = "headers: {X-Frame-Options: DENY, X-Own: a}\napi_info: {title: Weather, version: 2}\n"
        text += "domain: weather.example\ncors: {origin: https://own.example, header: X}\n"
        files: Files = {
            "services/webservice.yaml": text,
            "services/http.yaml": "credentials: a=b\n",
            "services/email.yaml": "connection_server: a\n",
            "services/config.yaml": "auto_update: true\nreuse_vm: false\nrate_limt: 1\n",
            "endpoints/b.lua": "--#ENDPOINT GET /b\nresponse.headers = {['X-Own'] = 'b'}\nreturn 1",
            **GOOD,
        }
        solution = own.solution("s", path=write_folder(root, "s", files))
        for path, own_header in (("/a", "a"), ("/b", "b"), ("/nowhere", "a")):
            headers = solution.get(path).headers
            given = (headers.get("X-Frame-Options"), headers.get("X-Own"))
            expect.equal(f"headers of {path}", given, ("DENY", own_header))
        for origin, allowed in (("https://own.example", "https://own.example"), ("http://localhost:1", None)):
            answer = solution.get("/a", headers={"Origin": origin})
            expect.equal(f"origin for {origin}", answer.headers.get(ALLOW), allowed)
        info = solution.get("/swagger.json").json()["info"]
        expect.equal("title and version", (info["title"], info["version"]), ("Weather", "2"))
        told = warned(solution)
        for wanted in (
            "config.yaml:1: auto_update",
            "config.yaml:2: reuse_vm",
            "http.yaml:1: credentials",
            "email.yaml:1: connection_server",
            "webservice.yaml:3: domain",
            "webservice.yaml:4: cors.header: unknown key, ignored; did you mean headers?",
            "rate_limt: Config has no such parameter",
        ):
            expect.true(f"{wanted} is told", wanted in told, told)
        for number, (name, wrong) in enumerate(WRONG.items()):
            wrong_folder = write_folder(root, f"wrong-{number}", {name: wrong})
            found = error(partial(own.solution, "wrong", path=wrong_folder))
            expect.true(f"{name} is refused", f"{name}:2: " in found, found)
