"""Operations whose cost is compared at two sizes: keys, members, timers, series and points."""

from __future__ import annotations

from typing import Any

from labkit.bench.stage import Call, Stage, control, page, scan, service

MOST = 1000  # items that are stored at once
START = 1_767_225_600  # seconds
HOUR = 3600


async def _add_keys(stage: Stage, solution: str) -> None:
    for begin in range(0, stage.size, MOST):
        values = {f"key{at:06}": "some" for at in range(begin, min(stage.size, begin + MOST))}
        await stage.call("Keystore", "mset", solution=solution, values=values)


async def keys(stage: Stage) -> None:
    """Store keys, each with a short value."""
    await _add_keys(stage, "home")


async def keys_of_another(stage: Stage) -> None:
    """Store one key, and many of another solution."""
    await stage.call("Keystore", "set", key="key", value="some")
    await _add_keys(stage, "other")


async def members(stage: Stage) -> None:
    """Store a set, a sorted set, a hash and places."""
    for at in range(stage.size):
        member = f"m{at}"
        await _command("sadd", member)(stage)
        await _command("zadd", at, member)(stage)
        await _command("hset", member, "some")(stage)
        await _command("geoadd", at % 60, at / stage.size * 60, member)(stage)


def _command(name: str, *args: Any) -> Call:
    return service("Keystore.command", command=name, key=name[0], args=[*args])


async def _pop(stage: Stage) -> None:
    found = await stage.call("Keystore", "command", command="spop", key="s")
    await stage.call("Keystore", "command", command="sadd", key="s", args=[found["value"]])


async def _set_new(stage: Stage) -> None:
    await stage.call("Keystore", "set", key="new", value="some")
    await stage.call("Keystore", "delete", key="new")


NEAR = ("FROMLONLAT", 30, 30)
KEYS = [
    page("Keystore.get", keys, service("Keystore.get", key="key000150")),
    page("keystore.keys, a page", keys, control("keystore.keys", "home", limit=10)),
    page("keystore.get", keys, control("keystore.get", "home", "key000150")),
    page("Keystore.set, Keystore.delete", keys, _set_new),
    page("Keystore.info", keys, service("Keystore.info")),
    page("Keystore.list, a page", keys, service("Keystore.list", count=10)),
    scan("Keystore.list by a part of the key", keys, service("Keystore.list", match="none")),
    page("Keystore.info beside another's", keys_of_another, service("Keystore.info")),
    page("Keystore.list beside another's", keys_of_another, service("Keystore.list")),
    page("Keystore.clear beside another's", keys_of_another, service("Keystore.clear", match="none")),
    page("srandmember", members, _command("srandmember", 3)),
    page("spop, sadd", members, _pop),
    page("sscan", members, _command("sscan", 0)),
    page("zrandmember", members, _command("zrandmember", 3, "WITHSCORES")),
    page("zscan", members, _command("zscan", 0)),
    page("hrandfield", members, _command("hrandfield", 3, "WITHVALUES")),
    page("geosearch, the nearest", members, _command("geosearch", *NEAR, "BYRADIUS", 9000, "km", "COUNT", 3)),
    scan("geosearch, all", members, _command("geosearch", *NEAR, "BYRADIUS", 9000, "km")),
]  # fmt: skip

# ---- timers


async def timers(stage: Stage) -> None:
    """Set timers."""
    for at in range(stage.size):
        await stage.call("Timer", "sendAfter", duration=HOUR * 1000 + at * 7919 % 10_000, timer_id=f"t{at}")


async def _set_timer(stage: Stage) -> None:
    await stage.call("Timer", "sendAfter", duration=HOUR * 1000, timer_id="new")
    await stage.call("Timer", "cancel", timer_id="new")


TIMERS = [
    page("Timer.sendAfter, Timer.cancel", timers, _set_timer),
    page("Timer.cancelAll beside another's", timers, service("Timer.cancelAll", solution="other")),
    page("timers.all, a page", timers, control("timers.all", "home", limit=10)),
    page("clock.advance", timers, control("clock.advance", 0.001)),
    page("Timer.list, a page", timers, service("Timer.list", limit=10)),
    scan("Timer.list, all", timers, service("Timer.list", limit=10_000)),
]

# ---- series and points


async def _write(stage: Stage, solution: str, *, tagged: bool) -> None:
    for begin in range(0, stage.size, MOST):
        await stage.call(
            "Tsdb",
            "multiWrite",
            solution=solution,
            datapoints=[
                {
                    "metrics": {"m": at},
                    "tags": {"sn": f"{at:06}"} if tagged else {},
                    "ts": f"{START + at}s",
                }
                for at in range(begin, min(stage.size, begin + MOST))
            ],
        )


async def series(stage: Stage) -> None:
    """Store series of a metric, each with a tag of its own and a point."""
    await _write(stage, "home", tagged=True)


async def series_of_another(stage: Stage) -> None:
    """Store a series, and many of another solution."""
    await stage.call("Tsdb", "write", metrics={"m": 1}, ts=f"{START}s")
    await _write(stage, "other", tagged=True)


async def points(stage: Stage) -> None:
    """Store points of one series."""
    await _write(stage, "home", tagged=False)


async def lines(stage: Stage) -> None:
    """Store series of a measurement, each with a tag of its own and a point."""
    for begin in range(0, stage.size, MOST):
        some = range(begin, min(stage.size, begin + MOST))
        text = "\n".join(f"m,sn={at:06} v={at} {START + at}" for at in some)
        await stage.call("Timeseries", "write", query=text, precision="s")


def _query(**arguments: Any) -> Call:
    return service("Tsdb.query", metrics="m", start_time="0s", end_time=f"{2 * START}s", **arguments)


ONE = {"sn": "000150"}


async def _write_new(stage: Stage) -> None:
    """Write into a new series, and remove that again."""
    await stage.call("Timeseries", "write", query=f"n v=1 {START}", precision="s")
    await stage.call("Timeseries", "command", q="DROP MEASUREMENT n")


SERIES = [
    page("Tsdb.write", series, service("Tsdb.write", metrics={"m": 1}, tags=ONE, ts=f"{START}s")),
    page("a new series", series, _write_new),
    page("a new series beside another's", series_of_another, _write_new),
    page("Tsdb.query of one series", series, _query(tags=ONE)),
    page("Tsdb.recent of one series", series, service("Tsdb.recent", metrics="m", tags=ONE)),
    page("series.search, a page", series, control("series.search", "home", limit=10)),
    scan("series.search by a tag", series, control("series.search", "home", text="000150")),
    page("Tsdb.listMetrics", series, service("Tsdb.listMetrics")),
    scan("Tsdb.listTags", series, service("Tsdb.listTags")),
    page("Tsdb.query of all series, a page", series, _query(limit=10)),
    page("Tsdb.query of all series, the first page", series, _query(limit=10, order_by="asc")),
    scan("Tsdb.recent", series, service("Tsdb.recent", metrics="m")),
    scan("Tsdb.query of all series, an aggregate", series, _query(aggregate="avg")),
    page("Timeseries.query, a page", lines, service("Timeseries.query", q="SELECT v, sn FROM m LIMIT 10")),
    page("Tsdb.listTags, a page", series, service("Tsdb.listTags", limit=10, next='["sn", "000150"]')),
    page("Tsdb.deleteAll beside another's", series, service("Tsdb.deleteAll", solution="other")),
    page("Tsdb.listTags beside another's", series_of_another, service("Tsdb.listTags")),
    page("Tsdb.recent beside another's", series_of_another, service("Tsdb.recent", metrics="m")),
    page("Tsdb.query, a page", points, _query(limit=10)),
    scan("Tsdb.query, an aggregate", points, _query(aggregate="avg")),
    scan("Tsdb.query, an aggregate by time", points, _query(aggregate="avg", sampling_size="1h")),
]  # fmt: skip

ROWS = (*KEYS, *TIMERS, *SERIES)
