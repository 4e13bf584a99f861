"""Faults of long polling: which polls a datapoint answers, and which datapoint a poll."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

from labkit.conformance.breaking import always, change_arguments, change_result
from labkit.conformance.mutant import mutant, patch
from labkit.device_api.exchange import Exchange
from labkit.devices.deliveries import PollDeliveries
from labkit.devices.devices import Devices
from labkit.devices.polls import Poll, Polls
from labkit.devices.registry import DeviceRecord
from labkit.devices.seen import Key, SeenValues
from labkit.devices.state import AnswerCondition, Datapoint, Stored, numbered
from labkit.edge.handling import RequestLoop
from labkit.labtime.activity import Activity
from labkit.labtime.holding import Holding

ADD = "labkit.devices.deliveries:PollDeliveries.add"
ANSWERED = "labkit.devices.state:State.record_answer"
CONFIRM = "labkit.devices.deliveries:PollDeliveries.confirm"
COUNT = "labkit.devices.seen:SeenValues.count_answer"
LAST = "labkit.devices.deliveries:PollDeliveries.last_number"
SEEN = "labkit.devices.seen:SeenValues.add"
DUE = "labkit.devices.state:State.due"
STORED = "labkit.device_api.emitted:stored"
TAKES = "labkit.devices.polls:Poll.is_answered_by"
WAKE = "labkit.devices.polls:Polls.wake"


# ---- which polls are woken


def _woken(
    compared: tuple[int, int], original: Any, self: Polls, product: str, identity: str, *rest: Any
) -> None:
    """Wake polls whose keys are equal in the parts compared: 0 product, 1 identity, 2 alias."""
    stored, written = rest
    for (alias, *value), number in stored:
        for key in self.keys():
            if all(key[part] == (product, identity, alias)[part] for part in compared):
                original(self, *key[:2], [Stored(Datapoint(key[2], *value), number)], written)


woken_by_other_alias = patch("DEV-POLL-3", WAKE, "a write of any alias answers a device's polls")(
    partial(_woken, (0, 1))
)
woken_by_other_device = patch("DEV-POLL-3", WAKE, "a write by any device answers the polls of its product")(
    partial(_woken, (0, 2))
)
woken_by_other_product = patch(
    "DEV-POLL-3", WAKE, "a write answers polls of the same identity and alias under every product"
)(partial(_woken, (1, 2)))
by_any_record = patch(
    "DEV-POLL-19", WAKE, "a recorded point wakes every poll from now on, however old it is"
)(change_arguments(written=True))


@patch("DEV-POLL-11", STORED)
def in_the_order_of_the_body(
    original: Any,
    exchange: Any,
    devices: Devices,
    device: DeviceRecord,
    points: Any,
    first: int,
    api: str,
    *rest: Any,
) -> None:
    """of several points that one request records, the first one in the body answers a waiting poll"""
    for each in numbered(points, first):
        devices.polls.wake(device.product, device.identity, [each], api == "write")
    original(exchange, devices, device, points, first, api, *rest)


@patch("DEV-POLL-19", STORED)
def not_by_hybrid(original: Any, exchange: Exchange, devices: Devices, *stored: Any) -> None:
    """a hybrid write wakes no poll"""
    if exchange.query():  # nobody waits
        devices, activity = copy(devices), Activity()
        devices.polls = Polls(exchange.context.clock, activity, Holding(activity), devices.state)
    original(exchange, devices, *stored)


@patch("DEV-POLL-19 DEV-POLL-24", WAKE)
def not_by_record(original: Any, self: Polls, product: str, identity: str, stored: Any, written: bool) -> Any:
    """a recorded point wakes no poll, nor does it when its second comes"""
    return original(self, product, identity, stored if written else [], written)


@patch("DEV-POLL-24", WAKE)
def ahead_at_once(original: Any, self: Polls, product: str, identity: str, stored: Any, written: bool) -> Any:
    """a point recorded ahead answers as soon as it is recorded"""
    early = [each._replace(point=each.point._replace(timestamp=1)) for each in stored]
    return original(self, product, identity, early, True)


# ---- which datapoint answers

strictly_later = patch(
    "DEV-POLL-21 DEV-POLL-22",
    DUE,
    "a datapoint of the very second of If-Modified-Since does not answer a new poll",
)(change_arguments(polls=lambda polls: [each._replace(same=False) for each in polls]))
never_seen = patch("DEV-POLL-22 DEV-POLL-29 DEV-POLL-30 DEV-POLL-32", SEEN, "no value ever counts as seen")(
    always(None)
)
never_remembered = patch(
    "DEV-POLL-27",
    LAST,
    "a connection does not remember its answers: other clients' polls decide which values count as seen",
)(always(None))
ahead_unseen = patch(
    "DEV-POLL-24",
    DUE,
    "a point recorded ahead of a later poll does not answer it when the point's second comes",
)(change_result(lambda due: (due[0], None)))
future_unheard = patch("DEV-POLL-25", TAKES, "any write answers a poll that waits")(
    lambda original, self, fresh, written: written or original(self, fresh, written)
)


@patch("DEV-POLL-8 DEV-POLL-11", DUE)
async def newest(original: Any, self: Any, key: Key, polls: Any, now: int) -> Any:
    """of several datapoints the newest answers"""
    found, ahead = await original(self, key, polls, now)
    for index, each in enumerate(found):
        while each is not None:
            found[index] = each
            [each], _ = await original(self, key, [AnswerCondition(each.point.timestamp, False)], now)
    return found, ahead


@mutant("DEV-POLL-20", DUE)
def given_once(original: Any) -> Any:
    """a datapoint does not answer a second poll from the same time"""
    requested: set[tuple[Key, int]] = set()

    async def broken(self: Any, key: Key, polls: Any, now: int) -> Any:
        found, ahead = await original(self, key, polls, now)
        fresh = [
            None if (key, poll.since) in requested else each for each, poll in zip(found, polls, strict=True)
        ]
        requested.update((key, poll.since) for poll in polls)
        return fresh, ahead

    return broken


@patch("DEV-POLL-21", TAKES)
def strictly_later_while_waiting(original: Any, self: Poll, fresh: Stored, written: bool) -> Any:
    """a value of the very second of If-Modified-Since does not answer a poll that waits"""
    return original(self, fresh, written) and (self.live or fresh.point.timestamp > self.since)


@mutant("DEV-POLL-21", DUE)
def marked_for_good(original: Any) -> Any:
    """a second whose value answered one poll counts as seen, whatever value is written in it later"""
    seconds: set[tuple[Key, int]] = set()

    async def broken(self: Any, key: Key, polls: Any, now: int) -> Any:
        known = [poll._replace(same=poll.same and (key, poll.since) not in seconds) for poll in polls]
        found = await original(self, key, known, now)
        seconds.update((key, each.point.timestamp) for each in found[0] if each is not None)
        return found

    return broken


@mutant("DEV-POLL-23", TAKES)
def one_for_one(original: Any) -> Any:
    """a datapoint answers only one of several waiting polls"""
    taken: set[int] = set()

    def broken(self: Poll, fresh: Stored, written: bool) -> bool:
        if fresh.number in taken or not original(self, fresh, written):
            return False
        taken.add(fresh.number)
        return True

    return broken


# ---- which values count as seen

sent_is_seen = patch(
    "DEV-POLL-28 DEV-POLL-31 DEV-POLL-32",
    ANSWERED,
    "a value counts as seen as soon as it is sent, even if the answer is lost",
)(change_arguments(named=False))
named_anyhow = patch(
    "DEV-POLL-29", ANSWERED, "a value that answered a poll from another time does not count as seen"
)(change_arguments(named=True))
never_confirmed = patch(
    "DEV-POLL-30", CONFIRM, "a further request, or an end in order, does not confirm a value"
)(always(None))
no_further_request = patch(
    "DEV-POLL-30",
    "labkit.edge.protocol:EdgeProtocol.has_input",
    "a further request counts as pipelined, and so confirms nothing",
)(always(True))
no_orderly_end = patch(
    "DEV-POLL-30",
    "labkit.edge.handling:RequestLoop.client_ended",
    "a client's own end of its connection confirms nothing",
)(always(None))
pipelined_confirms = patch(
    "DEV-POLL-31",
    "labkit.edge.protocol:EdgeProtocol.has_input",
    "a pipelined request confirms the answer before it",
)(always(False))


@patch("DEV-POLL-31", "labkit.edge.handling:RequestLoop.client_ended")
def any_end_confirms(original: Any, self: RequestLoop) -> None:
    """an end of the connection that the server makes confirms the last answer"""
    if self.connection.deliveries is not None:
        self.connection.deliveries.confirm()


@patch("DEV-POLL-28", "labkit.edge.protocol:EdgeProtocol.connection_lost")
def reset_confirms(original: Any, self: RequestLoop, error: BaseException | None) -> None:
    """a reset of the connection confirms the last answer"""
    if self.connection.deliveries is not None:
        self.connection.deliveries.confirm()
    original(self, error)


@patch("DEV-POLL-32", COUNT)
def four_answers(original: Any, self: SeenValues, key: Key, timestamp: int, number: int) -> None:
    """a value counts as seen after four answers to polls from its own second"""
    original(self, key, timestamp, number)
    if self.answers.get(key, {}).get(timestamp, (0, 0))[1] == 4:
        self.add(key, timestamp, number)


never_counted = patch("DEV-POLL-32", COUNT, "a value may answer any number of polls from its own second")(
    always(None)
)


@patch("DEV-POLL-27", LAST)
def of_any_second(original: Any, self: PollDeliveries, key: Key, second: int) -> int | None:
    """of the second in If-Modified-Since only a value newer than every value of its connection answers"""
    found = [original(self, key, each) for each in range(second - 200, second + 200)]
    return next((number for number in found if number is not None), None)


of_any_alias = patch(
    "DEV-POLL-27",
    ADD,
    "values of one alias that a connection received count as seen for another alias of the device",
)(change_arguments(key=lambda key: (*key[:2], "text")))
