"""Simulated handsets, which receive the messaging provider's deliveries, by token, phone number or messenger id."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Literal

from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.journal import Journal
from labkit.labtime.clock import Clock, Timer, TimerState

State = Literal["delivered", "waiting", "expired", "dropped", "unregistered", "rejected"]

CAPACITY = 10_000  # messages kept of all handsets together; the oldest are removed
BYTES = 64 * 1024 * 1024  # total size of the payloads kept


@dataclass(slots=True, eq=False)
class HandsetMessage:
    """Message to one handset over one channel, with the state of its delivery.

    time: lab time of the send, in seconds; payload, headers: in the format of the channel; expires: lab time from
    which on it is not delivered any more; state: delivered, waiting (the handset is offline), expired, dropped
    (no room), unregistered or rejected (by the push service); ended: lab time at which it reached its final state,
    None while it waits; account, service, binding, notification: sids of its origin; identity: its recipient;
    cause: sequence of the journal's record of the request; size: characters of the payload as JSON.
    """

    time: float
    address: str
    channel: str
    payload: Mapping[str, Any]
    headers: Mapping[str, str]
    expires: float
    account: str
    service: str
    identity: str
    binding: str
    notification: str
    size: int
    cause: int | None = None
    state: State = "waiting"
    ended: float | None = None
    timer: Timer | None = field(default=None, repr=False)


MESSAGE = tuple(each.name for each in fields(HandsetMessage) if each.name != "timer")


class SimulatedHandset:
    """Device, phone or messenger account, created by the first message to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.online = True
        self.dropped = 0  # number of its messages that were removed for lack of room
        self.messages: deque[HandsetMessage] = deque()

    @property
    def received(self) -> list[HandsetMessage]:
        """The delivered messages, in the order of their delivery."""
        reached = [each for each in self.messages if each.state == "delivered"]
        return sorted(reached, key=lambda each: each.ended or 0.0)


@dataclass(frozen=True, slots=True)
class MessageState:
    """A message as plain data. fields: as of HandsetMessage; timer: that of its expiry, if it waits."""

    fields: dict[str, Any]
    timer: TimerState | None


@dataclass(frozen=True, slots=True)
class HandsetsState:
    """All handsets as plain data: address, whether online, and number of dropped messages; and the messages."""

    handsets: list[tuple[str, bool, int]]
    messages: list[MessageState]
    dropped: int


class Handsets(Component):
    """All handsets of a lab, in the order of their creation.

    capacity: messages kept; bytes: of their payloads. `dropped` counts the messages removed for lack of room.
    """

    def __init__(self, clock: Clock, journal: Journal, capacity: int = CAPACITY, bytes: int = BYTES) -> None:
        self._clock = clock
        self._journal = journal
        self._capacity = capacity
        self._bytes = bytes
        self._handsets: Directory[SimulatedHandset] = Directory("handset")
        self._kept: deque[HandsetMessage] = deque()
        self._size = 0
        self.dropped = 0

    state_type = HandsetsState

    def snapshot(self) -> HandsetsState:
        return HandsetsState(
            [(each.address, each.online, each.dropped) for each in self],
            [
                MessageState(
                    {name: getattr(each, name) for name in MESSAGE},
                    None if each.timer is None else TimerState(each.timer.when, each.timer.order),
                )
                for each in self._kept
            ],
            self.dropped,
        )

    async def restore(self, state: HandsetsState) -> None:
        self.dropped = state.dropped
        for address, online, dropped in state.handsets:
            handset = self.ensure(address)
            handset.online, handset.dropped = online, dropped
        for each in state.messages:
            message = HandsetMessage(**each.fields)
            self.ensure(message.address).messages.append(message)
            self._kept.append(message)
            self._size += message.size
            if each.timer is not None:
                self._expire(message, each.timer)

    def _expire(self, message: HandsetMessage, at: TimerState) -> None:
        message.timer = self._clock.call_at(at.when, lambda: self._end(message, "expired"), at.order)

    def deliver(self, message: HandsetMessage) -> None:
        """Deliver a message to its handset, at once or when the handset is online again."""
        handset = self._take(message)
        if handset.online:
            self._end(message, "delivered")
        elif message.expires <= self._clock.now():  # a ttl of 0: this was the one attempt
            self._end(message, "expired")
        else:
            self._expire(message, self._clock.next_timer_at(message.expires))
            self._tell(message)

    def refuse(self, message: HandsetMessage, state: Literal["unregistered", "rejected"]) -> None:
        """Store a message that the push service refused."""
        self._take(message)
        self._end(message, state)

    def switch(self, address: str, *, online: bool) -> SimulatedHandset:
        """Switch a handset off or on, and return it. Switched on, it receives its waiting messages not yet expired."""
        handset = self.ensure(address)
        handset.online = online
        if online:
            now = self._clock.now()
            for message in tuple(handset.messages):
                if message.state == "waiting":
                    self._end(message, "expired" if message.expires <= now else "delivered")
        return handset

    def ensure(self, address: str) -> SimulatedHandset:
        """Return the handset of this address; create it if there is none."""
        found = self._handsets.find(address)
        if found is None:
            found = SimulatedHandset(address)
            self._handsets.add(address, found)
        return found

    def get(self, address: str) -> SimulatedHandset:
        """Return the handset of this address. Raises UnknownError, listing the existing addresses, if there is none."""
        return self._handsets.get(address)

    @property
    def messages(self) -> list[HandsetMessage]:
        """All stored messages, in the order of their sends."""
        return list(self._kept)

    def _take(self, message: HandsetMessage) -> SimulatedHandset:
        handset = self.ensure(message.address)
        handset.messages.append(message)
        self._kept.append(message)
        self._size += message.size
        while len(self._kept) > 1 and (len(self._kept) > self._capacity or self._size > self._bytes):
            self._drop(self._kept.popleft())
        return handset

    def _drop(self, message: HandsetMessage) -> None:
        self._size -= message.size
        self.dropped += 1
        if message.state == "waiting":
            self._end(message, "dropped")
        handset = self._handsets.get(message.address)
        handset.messages.popleft()  # the oldest of all messages is its handset's oldest too
        handset.dropped += 1
        if handset.online and not handset.messages:
            self._handsets.remove(message.address)

    def _end(self, message: HandsetMessage, state: State) -> None:
        if message.timer is not None:
            message.timer.cancel()
            message.timer = None
        message.state = state
        message.ended = self._clock.now()
        self._tell(message)

    def _tell(self, message: HandsetMessage) -> None:
        self._journal.record(
            "delivery",
            f"handset/{message.address}",
            f"{message.channel} {message.state}",
            cause=message.cause,
            size=message.size,
            detail=partial(_detail, message.service, message.identity, message.binding, message.notification),
        )

    async def clear(self) -> None:
        """Remove all handsets and messages."""
        for message in self._kept:
            if message.timer is not None:
                message.timer.cancel()
        self._kept.clear()
        self._size = self.dropped = 0
        for each in self._handsets.names():
            self._handsets.remove(each)

    def __contains__(self, address: object) -> bool:
        return address in self._handsets

    def __len__(self) -> int:
        return len(self._handsets)

    def __iter__(self) -> Iterator[SimulatedHandset]:
        return iter(self._handsets)


def _detail(service: str, identity: str, binding: str, notification: str) -> dict[str, object]:
    return {"service": service, "identity": identity, "binding": binding, "notification": notification}
