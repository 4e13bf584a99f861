"""Quotas: the number of calls that a subscriber may make per day and month of the lab's clock."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import INTERFACE, OwnSolution, create_own
from labkit.conformance.probe import same
from labkit.conformance.target import Target

PUBLISHER = {
    "operations": [
        {"name": "count"},
        {"name": "strict", "parameters": {"type": "object", "required": ["level"]}},
        {"name": "fail"},
        {"name": "nobody"},
    ],
    "events": [{"name": "rang"}],
}
UNLIMITED = 60  # calls without a quota
COUNT = 'return Keystore.command{key = "calls", command = "incr"}.value'
FAIL = "error('as it was asked to')"


async def two(target: Target, **quota: int) -> tuple[OwnSolution, OwnSolution]:
    """Create a publisher, and a subscriber with a quota."""
    publisher, home = await create_own(target, PUBLISHER), await create_own(target)
    await publisher.on("interface", "count", COUNT)
    await publisher.on("interface", "strict", COUNT)
    await publisher.on("interface", "fail", FAIL)
    await home.subscribe(publisher, script_key="meter", quota=quota)
    return publisher, home


async def served(home: OwnSolution, most: int) -> int:
    """Return the number of calls that are served advance_to one is refused, at most `most`."""
    for count in range(most):
        if await home.status("Meter", "count") == 403:
            return count
    return most


async def advance_to(target: Target, moment: datetime) -> None:
    """Advance the clock to a time."""
    await target.in_lab(target.lab.clock.advance_to, moment.timestamp())


async def lab_time(target: Target) -> datetime:
    """Return the lab's time."""
    return datetime.fromtimestamp(await target.in_lab(lambda: target.lab.clock.time), UTC)


async def advance_to_noon(target: Target) -> datetime:
    """Advance the clock to noon of a day that every year has; return the time."""
    await advance_to(target, next_month(await lab_time(target)) + timedelta(hours=12))
    return await lab_time(target)


def next_month(moment: datetime) -> datetime:
    """Return the first second of the next month."""
    first = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)


def midnight(moment: datetime) -> datetime:
    """Return the first second of the next day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


@check("IFC-QUO-1", "many calls are served without a quota", needs={"settings"})
async def unlimited(target: Target) -> None:
    _, home = await two(target)
    expect.equal("calls that were served", await served(home, UNLIMITED), UNLIMITED)


@check("IFC-QUO-2", "a subscriber's calls per day are limited by calls_daily", needs={"settings", "clock"})
async def daily(target: Target) -> None:
    for quota in (0, 1, 3):
        _, home = await two(target, calls_daily=quota)
        expect.equal(f"calls of {quota} that were served", await served(home, quota + 3), quota)
        expect.equal("another", await served(home, 1), 0)


@check(
    "IFC-QUO-3",
    "a subscriber's calls per month are limited by calls_monthly, on any days",
    needs={"settings", "clock"},
)
async def monthly(target: Target) -> None:
    await advance_to(target, next_month(await lab_time(target)) + timedelta(days=2))
    _, home = await two(target, calls_monthly=3)
    expect.equal("calls of one day", await served(home, 2), 2)
    await advance_to(target, midnight(await lab_time(target)) + timedelta(hours=12))
    expect.equal("calls of another", await served(home, 5), 1)
    await advance_to(target, midnight(await lab_time(target)))
    expect.equal("calls of a third", await served(home, 5), 0)


@check("IFC-QUO-4", "a day ends at midnight and a month with its last day, in UTC, to the fraction",
       needs={"settings", "clock"})  # fmt: skip
async def ends(target: Target) -> None:
    await advance_to(target, next_month(await lab_time(target)) + timedelta(hours=1))
    _, home = await two(target, calls_daily=2, calls_monthly=5)
    expect.equal("the first day", await served(home, 4), 2)
    end = midnight(await lab_time(target))
    await advance_to(target, end - timedelta(milliseconds=1))
    expect.equal("before midnight", await served(home, 1), 0)
    await advance_to(target, end)
    expect.equal("at midnight", await served(home, 4), 2)
    await advance_to(target, end + timedelta(days=1, seconds=0.5))
    expect.equal("the third day, the rest of the month", await served(home, 4), 1)
    end = next_month(await lab_time(target))
    await advance_to(target, end - timedelta(milliseconds=1))
    expect.equal("before the month's end", await served(home, 1), 0)
    await advance_to(target, end)
    expect.equal("at the month's end", await served(home, 4), 2)
    await advance_to(target, next_month(end))
    expect.equal("on the same day of the next month", await served(home, 4), 2)


@check("IFC-QUO-4", "the same day and month of another year begin anew", needs={"settings", "clock"})
async def another_year(target: Target) -> None:
    now = await advance_to_noon(target)
    homes = [(await two(target, **{name: 2}))[1] for name in ("calls_daily", "calls_monthly")]
    for home in homes:
        expect.equal("calls of one year", await served(home, 4), 2)
    await advance_to(target, now.replace(year=now.year + 1))
    for home in homes:
        expect.equal("calls of the next one", await served(home, 4), 2)


@check(
    "IFC-QUO-5",
    "a call beyond the quota is a 403 that names the quota and its count, and runs no handler",
    needs={"settings", "clock"},
)
async def over(target: Target) -> None:
    for name, count, others in (
        ("calls_daily", 2, {}),
        ("calls_monthly", 3, {}),
        ("calls_daily", 2, {"calls_monthly": 4}),
        ("calls_monthly", 3, {"calls_daily": 5}),
    ):
        publisher, home = await two(target, **{name: count}, **others)
        await served(home, count)
        error = await home.call("Meter", "count")
        found = {each: error.get(each) for each in ("type", "status")} if isinstance(error, dict) else error
        expect.equal("the error", found, {"type": "QueryError", "status": 403})
        word = name.removeprefix("calls_")
        expect.true(
            f"it names {word} and {count}", word in error["error"] and str(count) in error["error"], error
        )
        kept = await publisher.call("Keystore", "get", key="calls")
        expect.equal("how often the handler ran", int(kept.get("value", 0)), count)


@check("IFC-QUO-6", "dispatched calls count, failed ones too; refused ones and events do not",
       needs={"settings", "clock"})  # fmt: skip
async def what_counts(target: Target) -> None:
    publisher, home = await two(target, calls_daily=3)
    for operation, status in (("strict", 400), ("unheardOf", 404), ("nobody", 404)):
        for _ in range(4):
            expect.equal(f"status of {operation}", await home.status("Meter", operation), status)
    await home.on("meter", "rang", "return 1")
    for mode in ("sync", "async"):
        await publisher.call(INTERFACE, "trigger", event="rang", mode=mode)
    await target.settle()
    expect.equal("status of a handler that fails", await home.status("Meter", "fail"), 500)
    expect.equal("calls that are left", await served(home, 5), 2)
    expect.equal("over it, a wrong one", await home.status("Meter", "strict", level=1), 403)


@check(
    "IFC-QUO-7",
    "each subscription has its own quota, which concurrent calls do not exceed",
    needs={"settings", "clock"},
)
async def at_once(target: Target) -> None:
    publisher, home = await two(target, calls_daily=5)
    other = await create_own(target)
    await other.subscribe(publisher, script_key="meter", quota={"calls_daily": 2})
    found: list[Any] = await asyncio.gather(*(home.status("Meter", "count") for _ in range(12)))
    expect.equal("how many were refused", sorted(map(str, found)), ["403"] * 7 + ["None"] * 5)
    expect.equal("of the other", await served(other, 5), 2)
    await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, quota={"calls_daily": 6})
    expect.equal("after another quota", await served(home, 5), 1)


@check("IFC-QUO-8", "a quota is an integer; a text is refused", needs={"settings", "clock"})
async def integers(target: Target) -> None:
    publisher, home = await two(target)
    for given, kept in ((2, 2), (0, 0), (3.0, 3), (2**53 - 1, 2**53 - 1), (None, None)):
        quota = {"calls_daily": given}
        await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, quota=quota)
        found = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
        same(f"quota {given!r}", found["quota"], {} if kept is None else {"calls_daily": kept})
    before = {"calls_daily": 2, "calls_monthly": 30}
    await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, quota=before)
    for wrong in ("3", "0", "007", "", " 5", "5.0", "1e1", "-1", True, False, -1, 2.5, 2**53, [3], {"n": 3}):
        for name in ("calls_daily", "calls_monthly"):
            status = await publisher.status(
                INTERFACE, "setSubscriber", subscriber_id=home.id, quota={name: wrong}
            )
            expect.equal(f"status of {name} {wrong!r}", status, 400)
    found = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
    same("the quota after all that was refused", found["quota"], before)
    expect.equal("calls that are served", await served(home, 5), 2)


@check("IFC-QUO-9", "an empty quota lifts both limits", needs={"settings"})
async def lifted(target: Target) -> None:
    quota = {"calls_daily": 2, "calls_monthly": 3}
    publisher, home = await two(target, **quota)
    for given, kept in (({}, {}), (None, quota), ([], {})):
        await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, quota=quota)
        await publisher.call(INTERFACE, "setSubscriber", subscriber_id=home.id, quota=given)
        found = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
        same(f"the quota after {given}", found["quota"], kept)
