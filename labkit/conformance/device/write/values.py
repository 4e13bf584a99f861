"""Driver of the model of device values: devices of two products, some with the same identity, and their polls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from labkit.conformance.connection_pool import Exchange
from labkit.conformance.device.write.expected_events import KEPT
from labkit.conformance.device.write.model import RESOURCES, Group, Pairs, Poll, expected_outcome, stamped
from labkit.conformance.device.write.tracking import (
    FORM_TYPE,
    MAX_STATES,
    PendingPoll,
    TrackedDevice,
    TrackedDevices,
)
from labkit.conformance.device_client import ALIAS, GRACE, RECORD
from labkit.conformance.models.commands import Commands, one_of, several, together
from labkit.conformance.models.game import LONG
from labkit.conformance.set_up import set_up

if TYPE_CHECKING:
    from labkit.conformance.connection_pool import Exchange


def outcome(response: Exchange, alias: str) -> tuple[str, str] | str:
    """Return the outcome of a poll: `304`, timestamp and value, or another status."""
    if response.status_code != 200:
        return str(response.status_code)
    pairs = parse_qsl(response.text, keep_blank_values=True)
    stamp = response.headers.get("last-modified", "no Last-Modified")
    return (stamp, pairs[0][1]) if len(pairs) == 1 and pairs[0][0] == alias else (stamp, response.text)


def path(aliases: Sequence[str], after: str = "") -> str:
    """Return the path of a read."""
    query = "&".join(quote(alias, safe="") + after for alias in aliases)
    return f"{ALIAS}?{query}" if query else ALIAS


PRODUCTS = ("token-open", "token-other", "token-open", "token-open")
ALIASES = ("text", "Text", "number", "level", "mode", "flag", "TEXT", "unknown")
# One of each kind of character that a decoding or encoding might lose.
CHARACTERS = "a1 Z+&=%;#?/\\\"'\t\n\r\0\x7f.~_-éß€Ωя中\u0301\u200b\u2028\ufeff\ufffd😀𐀀"
STAMPS = (
    *("@-5", "@-1", "@0", "@-4.5", "@-4.001", "@-4", "@-0.999", "@1", "@2", "@60", "@61", "@59.999"),
    *("-1", "-2", "-0.5", "-1.25", "-0.001", "0", "1"),  # counted back from the exact time
)
SINCE = (None, "last", "@0", "last", None, "@-1", "@-5", "0", "@1", "@2", "@-4", "last", None)
TIMEOUTS = (300_000, 300_000, 300_000, 0, 125, 1000, 2000, 2500)
SOON = ("@1", "@2", "@0", "@-1", "@-5", "-0.75")
TICKS = (1024, 1, 512, 1023, 2048, 5120, 128, 61440)
TEXTS = one_of(several(CHARACTERS, 4).map("".join), ["x" * 400, "é" * 300])
VALUES: dict[str, Any] = {
    "number": ("1", "0", "-1", "21.5", "1e3", "x", ""),
    "level": ("50", "0", "100", "-0.001", "100.001", "101", "-1"),
    "mode": ("on", "off", "ON"),
    "flag": ("true", "false", "maybe"),
}
# made once: Hypothesis takes about as long to look at a new strategy as to draw from it
PAIR = {each: together([each], VALUES.get(each, TEXTS)) for each in ALIASES}
GROUP = {
    each: together([each], several(together(STAMPS, VALUES.get(each, TEXTS)), 4, 1)) for each in ALIASES[:6]
}
PAIRS = several(one_of(ALIASES).flatmap(PAIR.__getitem__), 4, 1, unique_by=lambda each: each[0])
PLAIN = several(together(ALIASES[:3], "123"), 2, 1)
BY = (0, 0, 1, 2)

command = Commands(
    index=(0, 0, 0, 1, 2, 3),  # mostly one, so that much happens to it
    alias=ALIASES,
    since=several(SINCE, 3, 1),
    timeout=TIMEOUTS,
    by=BY,
    reset=bool,
)


class Values(TrackedDevices):
    """One run: four devices. The first two have one identity in two products, the last one has it in other case."""

    default = "DEV-ALIAS-1"
    average = LONG

    async def begin(self) -> None:
        one, other = self._target.identity(), self._target.identity()
        for product, identity in zip(PRODUCTS, (one, one, other, one.swapcase()), strict=True):
            device = self._target.device(product, identity, self._target.pool(product))
            with set_up(f"a device of {product}"):
                await device.activate()
            self.devices.append(TrackedDevice(device))
        await self.clock.begin()
        self._began = self.clock.now

    async def end(self) -> None:
        """Read all values once more, at the same time, and compare the events."""
        for index in range(0 if self._lost else len(self.devices)):
            await self.read(index, RESOURCES)
        known = not self._lost and self.clock.now - self._began < KEPT
        if self.clock.exact and known:
            devices = zip(PRODUCTS, (each.device for each in self.devices), strict=True)
            await self._expected.compare(self._target, self._rules, list(devices))

    async def close(self) -> None:
        for held in self._polls.values():
            held.task.cancel()
        await asyncio.gather(*(each.task for each in self._polls.values()), return_exceptions=True)

    async def play(self, command: Any) -> None:
        if not self._lost:
            await super().play(command)
            await self.compare_polls()

    # ---- what commands do

    @command(pairs=together(together(["text"], "abc")), aliases=[()])
    @command(pairs=PAIRS, aliases=[()])
    @command(pairs=one_of(PAIRS, PLAIN), aliases=several(("text", "text", *ALIASES), 5, 1))
    async def write(self, index: int, pairs: Pairs, aliases: Sequence[str]) -> None:
        """Write pairs; with aliases, by a hybrid request."""
        tracked = self.devices[index]
        sending = self._send(tracked, "POST", path(aliases), urlencode(list(pairs)))
        response, seconds = await self.clock.timed(sending)
        was = self._fork(tracked, seconds, lambda state, now: state.write(pairs, now))
        status = was[0][1]
        holds = self._rules.holds
        if status == 400:
            rule = "DEV-HYBRID-5" if aliases else "DEV-ALIAS-6" if pairs else "DEV-ALIAS-7"
            if not holds(rule, "status", response.status_code, 400, response):
                self._fork(tracked, seconds[:1], lambda state, now: state.write(pairs, now, taken=True))
                self._expected.lost = True
            return
        self._expected.wrote(index, pairs, seconds[0])
        if not aliases:
            holds("DEV-ALIAS-1", "status", response.status_code, 204, response)
        else:
            self._filter_read(tracked, response, aliases, {name for name, _ in pairs})
            await self.read(index, RESOURCES)  # the target may have cached earlier reads

    @command(pairs=PLAIN)
    async def at_once(self, index: int, pairs: Pairs) -> None:
        """Write to all devices concurrently, beginning with this one, different values to each."""
        own = [[(name, f"{value}{number}") for name, value in pairs] for number in range(len(self.devices))]
        order = [*range(index, len(self.devices)), *range(index)]
        sending = [self._send(self.devices[each], "POST", ALIAS, urlencode(own[each])) for each in order]
        responses, seconds = await self.clock.timed(asyncio.gather(*sending))
        for each, response in zip(order, responses, strict=True):
            values = own[each]
            self._fork(self.devices[each], seconds, lambda state, now, v=values: state.write(v, now))  # type: ignore[misc]
            self._expected.wrote(each, values, seconds[0])
            self._rules.holds("DEV-ALIAS-1", "status", response.status_code, 204, response)

    @command(aliases=several(("text", "text", *ALIASES), 5, 1), equals=bool)
    async def read(self, index: int, aliases: Sequence[str], equals: bool = False) -> None:
        """Read aliases. equals: in the form a=&b=."""
        tracked = self.devices[index]
        response, _ = await self.clock.timed(self._send(tracked, "GET", path(aliases, "=" if equals else "")))
        self._filter_read(tracked, response, aliases, set())

    @command(groups=together(together(["text"], together(together(SOON, "abc")))))
    @command(groups=several(one_of(ALIASES[:6]).flatmap(GROUP.__getitem__), 2, 1))
    async def record(self, index: int, groups: Sequence[Group]) -> None:
        """Record points. Timestamps are texts: `@-5.5` is relative to the current second, others are sent unchanged."""
        tracked = self.devices[index]
        base = self.clock.now
        stamps = [stamp for _, pairs in groups for stamp, _ in pairs]
        if not self.clock.exact and any(each.startswith("-") or each > "@0" for each in stamps):
            return  # negative and future timestamps depend on the fraction of the current second
        sent = [(alias, [(stamped(stamp, base), value) for stamp, value in pairs]) for alias, pairs in groups]
        body = urlencode([pair for alias, pairs in sent for pair in [("alias", alias), *pairs]])
        response, seconds = await self.clock.timed(self._send(tracked, "POST", RECORD, body))
        was = self._fork(tracked, seconds, lambda state, now: state.record(sent, now))
        holds = self._rules.holds
        status, clashes = was[0][1]
        if len(seconds) > 1 and any(each[1][0] != status for each in was):
            self._lost = True  # the status depends on a second that is uncertain
        elif status == 400 and clashes:
            if not holds("DEV-REC-14", "status", response.status_code in (400, 409), True, response):
                self._lost = True
        elif status == 400:
            far = any(Fraction(stamp) > base + 60 for _, pairs in sent for stamp, _ in pairs)
            rule = "DEV-REC-12" if far else "DEV-REC-14"
            if not holds(rule, "status", response.status_code, 400, response):
                self._fork(tracked, seconds[:1], lambda state, now: state.record(sent, now, taken=True))
                self._expected.lost = True
        elif status == 409:
            if not holds("DEV-REC-4", "status", response.status_code, 409, response):
                self._lost = True
            elif self.clock.exact:
                seen = parse_qsl(response.text, keep_blank_values=True)
                aliases = sorted(alias for alias, _ in clashes)
                holds("DEV-REC-6", "aliases of the 409", sorted(each for each, _ in seen), aliases, response)
                expected = [(alias, str(stamp)) for alias, stamp in clashes]
                holds("DEV-REC-7", "the 409", seen, expected, response)
        else:
            near = any(Fraction(stamp) > base + 2 for _, pairs in sent for stamp, _ in pairs)
            rule = "DEV-REC-4" if response.status_code == 409 else "DEV-REC-12" if near else "DEV-REC-1"
            self._expected.recorded(index, sent, seconds[0])
            if not holds(rule, "status", response.status_code, 204, response):
                self._lost = True

    @command(alias=["text"])
    @command()
    async def polls(self, index: int, alias: str, since: Sequence[str | None], timeout: int, by: int) -> None:
        """Begin polls of one alias, over successive connections."""
        for number, each in enumerate(since):
            await self.poll(index, alias, each, timeout, by + number)

    @command(value="abc", by=several(BY, 8, 1), reset=several((True, True, False, None), 8, 8))
    async def poll_again(
        self, index: int, value: str, by: Sequence[int], reset: Sequence[bool | None]
    ) -> None:
        """Write a value, let clients poll it from its own second, and end some of their connections."""
        await self.write(index, [("text", value)], ())
        await self.compare_polls()  # its answers affect the following polls
        for line, ends in zip(by, reset, strict=False):
            await self.poll(index, "text", "@0", 0, line)
            if ends is not None:
                await self.hang_up(index, line, ends)

    async def poll(self, index: int, alias: str, since: str | None, timeout: int, by: int) -> None:
        """Begin a poll. since: as in `record`, or `last`, the newest Last-Modified; timeout: milliseconds; by: the
        index of its connection, or of the next free one.
        """
        tracked = self.devices[index]
        if not self.clock.exact:  # else it is unknown whether a write of this second preceded the poll
            since, timeout = "@-1000", 300_000 if timeout else 0
        headers = {"Request-Timeout": str(timeout)}
        if since == "last":
            since = self._last.get((index, alias), "0")
        start = None
        if since is not None:
            headers["If-Modified-Since"] = stamped(since, self.clock.now)
            start = int(headers["If-Modified-Since"])
        self._count += 1
        number = self._count
        line = self._lines.free(PRODUCTS[index], by)
        sending = self._send(tracked, "GET", path([alias]), headers=headers, client=line)
        task = asyncio.create_task(sending)
        self._polls[number] = PendingPoll(index, alias, task, line)
        length = Fraction(timeout, 1000)
        self._confirm(line)
        for state in tracked.states:
            state.poll(number, alias, start, length, self.clock.now, line.number)
        waiting = sum(
            1 for each in tracked.states[0].polls.values() if each.alias == alias and each.answer is None
        )
        if tracked.states[0].polls[number].answer is None and "polls" in self._target.offers:
            held = asyncio.create_task(self._target.wait_for_polls(tracked.device, alias, waiting))
            await asyncio.wait({task, held}, return_when=asyncio.FIRST_COMPLETED, timeout=GRACE)
            held.cancel()
        await self.compare_polls()  # its answer affects the next poll

    @command(number=range(4))
    async def cancel_poll(self, number: int) -> None:
        """Cancel a poll, as a client that disconnects."""
        if not self._polls:
            return
        number = sorted(self._polls)[number % len(self._polls)]
        held = self._polls.pop(number)
        held.task.cancel()
        await asyncio.wait({held.task})
        await self._connection_ended(held.line)
        for state in self.devices[held.device].states:
            state.polls.pop(number, None)

    @command()
    async def hang_up(self, index: int, by: int, reset: bool) -> None:
        """End a connection without a pending poll: in order, or by a reset."""
        line = self._lines.idle(PRODUCTS[index], by)
        if line is None:
            return
        if not reset:
            self._confirm(line)
        line.connection.abort(reset=reset)
        await self._connection_ended(line)

    @command()
    async def ask(self, index: int, by: int) -> None:
        """Send a request that is no poll over a connection without a pending poll."""
        line = self._lines.idle(PRODUCTS[index], by)
        if line is not None:
            self._confirm(line)
            await self._send(self.devices[index], "GET", "/timestamp", client=line)

    def restarted(self) -> None:
        """Record that the platform restarts, so that it may count on from a higher number."""
        self._expected.restarted = True

    async def cut(self) -> None:
        """Prepare for an abrupt restart: end all polls, and allow for states in which seen values are forgotten."""
        self.restarted()
        while self._polls:
            await self.cancel_poll(0)
        self._lines.renumber()
        for tracked in self.devices:
            states, tracked.states = tracked.states, []
            for left in (left for state in states for left in state.restarted()):
                if left not in tracked.states:
                    tracked.states.append(left)
            self._lost = self._lost or len(tracked.states) > MAX_STATES

    @command(ticks=TICKS)
    async def advance(self, ticks: int) -> None:
        """Let time pass."""
        before = self.clock.now
        await self.clock.advance(ticks)
        if self.clock.exact:
            self.passed(before)

    def passed(self, before: Fraction) -> None:
        """Let points come due and polls run out, after the clock has advanced."""
        for tracked in self.devices:
            for state in tracked.states:
                state.advance(before, self.clock.now)

    # ---- comparing

    async def compare_polls(self) -> None:
        """Compare all polls: exactly those that the model answers must be answered, in the same way."""
        for number, held in list(self._polls.items()):
            tracked = self.devices[held.device]
            polls = [state.polls[number] for state in tracked.states]
            if all(each.answer is not None for each in polls):
                await asyncio.wait({held.task}, timeout=GRACE)
            elif not held.task.done():
                self._rules.holds(self._early(tracked, polls[0], None), "that the poll waits", True, True)
                continue
            await self._compare_poll(number, held, tracked, polls)

    async def _compare_poll(
        self, number: int, held: PendingPoll, tracked: TrackedDevice, polls: Sequence[Poll]
    ) -> None:
        answered = next((each for each in polls if each.answer is not None), None)
        answer = answered.answer if answered else None
        seen: tuple[str, str] | str = "waits"
        response = None
        if held.task.done():
            response = held.task.result()
            seen = outcome(response, held.alias)
            if isinstance(seen, tuple) and seen[0].isdecimal():
                self._last[held.device, held.alias] = seen[0]
        wanted = ["waits" if each.answer is None else expected_outcome(each) for each in polls]
        fitting = [
            state
            for state, want, each in zip(tracked.states, wanted, polls, strict=True)
            if want == seen or (each.either and seen == "304")
        ]
        if not fitting:
            rule = answer.rule if answer else self._early(tracked, polls[0], response)
            if not self._rules.holds(rule, f"poll {number} of {held.alias}", seen, wanted[0], response):
                for state in tracked.states:  # the model adopts the target's answer
                    state.record_answer(number, seen)
                del self._polls[number]
                if not held.task.done():
                    held.task.cancel()
                    await asyncio.wait({held.task})
                    await self._connection_ended(held.line)
            return
        if answer is not None:
            self._rules.holds(answer.rule, "the poll", True, True)
        if response is not None and response.status_code == 200:
            self._rules.holds(
                "DEV-READ-5", "type of a poll", response.headers.get("content-type"), FORM_TYPE, response
            )
        tracked.states = fitting
        for state in fitting:
            state.record_answer(number, seen)
        del self._polls[number]

    def _early(self, tracked: TrackedDevice, poll: Poll, response: Exchange | None) -> str:
        """Return the rule that makes a poll wait."""
        if response is not None and response.status_code == 304:
            return "DEV-POLL-6"
        now = self.clock.now
        points = tracked.states[0].points.get(poll.alias, {})
        if poll.since > now:
            return "DEV-POLL-25"
        if any(stamp > now for stamp in points):
            return "DEV-POLL-24"
        if poll.live and points:
            return "DEV-POLL-2"
        if poll.since in points:
            return "DEV-POLL-27" if poll.last is not None else points[poll.since].seen or "DEV-POLL-22"
        return "DEV-POLL-3" if any(each.states[0].points for each in self.devices) else "DEV-POLL-6"
