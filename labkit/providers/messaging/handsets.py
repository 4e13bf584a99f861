"""Handsets: who gets what the messaging provider delivers, by device token, phone number or messenger id."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from labkit.core.clock import Clock, Timer
from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.journal import Journal

State = Literal["delivered", "waiting", "expired", "dropped", "unregistered", "rejected"]

CAPACITY = 10_000  # messages kept of all handsets together; the oldest goes first
BYTES = 64 * 1024 * 1024  # of their payloads


@dataclass(slots=True, eq=False)
class HandsetMessage:
    """What was sent to one handset over one channel, and what became of it.

    time: lab time in seconds when it was sent; payload, headers: exactly as the channel has them; expires: lab
    time from which on it is not delivered any more; state: delivered, waiting (the handset is offline), expired,
    dropped (too much waits), unregistered or rejected (by the push service); ended: lab time at which it came to
    that, None while it waits; account, service, identity, binding, notification: whose it is, by sid; cause:
    sequence of the journal's record of the request; size: characters of the payload as JSON.
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


class SimulatedHandset:
    """One device, phone or messenger account: it is there from the first message that is sent to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.online = True
        self.dropped = 0  # messages of it that are not kept any more
        self.messages: deque[HandsetMessage] = deque()

    @property
    def received(self) -> list[HandsetMessage]:
        """What reached it, in the order in which it did."""
        reached = [each for each in self.messages if each.state == "delivered"]
        return sorted(reached, key=lambda each: each.ended or 0.0)


class Handsets(Component):
    """All handsets of a lab, in the order in which they came.

    capacity: messages kept; bytes: of their payloads. What goes for lack of room is counted in `dropped`.
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

    def deliver(self, message: HandsetMessage) -> None:
        """Bring a message to its handset, at once or once that is back online."""
        handset = self._take(message)
        if handset.online:
            self._end(message, "delivered")
        elif message.expires <= self._clock.now():  # a ttl of 0: this was the one attempt
            self._end(message, "expired")
        else:
            message.timer = self._clock.call_at(message.expires, lambda: self._end(message, "expired"))
            self._tell(message)

    def refuse(self, message: HandsetMessage, state: Literal["unregistered", "rejected"]) -> None:
        """Keep a message that the push service did not take."""
        self._take(message)
        self._end(message, state)

    def switch(self, address: str, *, online: bool) -> SimulatedHandset:
        """Turn a handset off, or on: it then gets what waits for it and has not expired."""
        handset = self.ensure(address)
        handset.online = online
        if online:
            now = self._clock.now()
            for message in tuple(handset.messages):
                if message.state == "waiting":
                    self._end(message, "expired" if message.expires <= now else "delivered")
        return handset

    def ensure(self, address: str) -> SimulatedHandset:
        """The handset of this address, which is there from now on."""
        found = self._handsets.find(address)
        if found is None:
            found = SimulatedHandset(address)
            self._handsets.add(address, found)
        return found

    def get(self, address: str) -> SimulatedHandset:
        """Raises LabError naming those that are there."""
        return self._handsets.get(address)

    @property
    def messages(self) -> list[HandsetMessage]:
        """All that is kept, in the order in which it was sent."""
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
        handset.messages.popleft()  # of all messages this is the oldest, so it is its handset's oldest too
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
        """Forget them all."""
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
