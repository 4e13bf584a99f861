"""Reference model of bindings, tags, notifications and the messages of handsets, from document 3 alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction

from labkit.conformance.models.calls import Refused
from labkit.conformance.notifications import CHANNELS, DAY, FOUR_WEEKS, PUSH

MAX_ITEMS = 20  # tags of a binding and of a filter; identities of a send; bindings of an identity
IMPLICIT = ("all", *CHANNELS)
NUMBER = re.compile(r"\+[1-9][0-9]{1,14}")


@dataclass(slots=True)
class Binding:
    """A binding. number: its index in the game; sid: as the target returned it; created: Unix seconds."""

    number: int
    identity: str
    endpoint: str
    type: str
    address: str
    tags: tuple[str, ...]
    created: int
    sid: str | None = None

    def matches(self, identities: Sequence[str], tags: Sequence[str]) -> bool:
        """Return whether the binding has one of the identities, if any are given, and all tags."""
        own = {*self.tags, "all", self.type}
        return (not identities or self.identity in identities) and own.issuperset(tags)


@dataclass(slots=True)
class Message:
    """A message to a handset. expires: Unix seconds, from which on it is not delivered."""

    text: str
    binding: Binding
    expires: Fraction


@dataclass(slots=True)
class Phone:
    """A handset, which all services send to. received: messages in the order of arrival."""

    online: bool = True
    received: list[Message] = field(default_factory=list)
    waiting: list[Message] = field(default_factory=list)

    def receive(self, message: Message, now: Fraction) -> None:
        """Receive a message, or let it wait while the handset is off."""
        if self.online:
            self.received.append(message)
        elif message.expires > now:
            self.waiting.append(message)

    def expire(self, now: Fraction) -> None:
        """Drop waiting messages that have expired."""
        self.waiting = [each for each in self.waiting if each.expires > now]

    def set_online(self, online: bool) -> None:
        """Turn the handset on or off; waiting messages arrive when it is turned on."""
        self.online = online
        if online:
            self.received += self.waiting
            self.waiting = []


@dataclass(slots=True)
class Bindings:
    """The bindings of one Notify service, oldest first.

    created_so_far: also the deleted and replaced ones; phones: the handsets of all services.
    """

    phones: dict[str, Phone]
    existing: list[Binding] = field(default_factory=list)
    created_so_far: list[Binding] = field(default_factory=list)
    now: Fraction = Fraction(0)

    def create(self, identity: str, endpoint: str, kind: str, address: str, tags: Sequence[str]) -> Binding:
        """Create a binding; it replaces the one with the same endpoint. Raises Refused."""
        check_count(tags, "NTF-BIND-14", "NTF-BIND-15")
        if kind not in CHANNELS:
            raise Refused("NTF-BIND-7", 400)
        if not 1 <= len(identity) <= 100:
            raise Refused("NTF-BIND-20", 400)
        if any(not 1 <= len(each) <= 100 for each in tags):
            raise Refused("NTF-BIND-15", 400)
        phone = kind == "sms" or (kind == "chat-messenger" and address.startswith("+"))
        if phone and NUMBER.fullmatch(address) is None:
            raise Refused("NTF-BIND-8" if kind == "sms" else "NTF-BIND-9", 400, choice="NTF-BIND-9")
        others = [each for each in self.existing if each.endpoint != endpoint]
        if sum(each.identity == identity for each in others) >= MAX_ITEMS:
            raise Refused("NTF-BIND-20", 400)
        own = tuple(dict.fromkeys(each for each in tags if each not in IMPLICIT))
        made = Binding(len(self.created_so_far), identity, endpoint, kind, address, own, int(self.now))
        self.existing = [*others, made]
        self.created_so_far.append(made)
        return made

    def get(self, bound: Binding) -> Binding:
        """Return a binding. Raises Refused if it is deleted or replaced."""
        if bound not in self.existing:
            raise Refused("NTF-BIND-17", 404)
        return bound

    def delete(self, bound: Binding) -> None:
        """Delete a binding. Raises Refused if it is deleted or replaced."""
        self.existing.remove(self.get(bound))

    def listed(
        self, identities: Sequence[str], tags: Sequence[str], days: tuple[int | None, int | None]
    ) -> list[Binding]:
        """Return the matching bindings, newest first. days: first and last day of creation. Raises Refused."""
        check_count(tags, "NTF-LIST-4", "NTF-SEND-17")
        start, end = days
        return [
            each
            for each in reversed(self.existing)
            if each.matches(identities, tags)
            and (start is None or each.created // DAY >= start)
            and (end is None or each.created // DAY <= end)
        ]

    def send(self, identities: Sequence[str], tags: Sequence[str], text: str, ttl: int | None) -> int:
        """Send a text to the matching bindings; return its lifetime in seconds. Raises Refused."""
        check_count(identities, "NTF-SEND-4", "NTF-SEND-17")
        check_count(tags, "NTF-SEND-5", "NTF-SEND-17")
        seconds = FOUR_WEEKS if ttl is None else ttl
        if not 0 <= seconds <= FOUR_WEEKS:
            raise Refused("NTF-TTL-1", 400, choice="NTF-SEND-17")
        if not identities and not tags:
            raise Refused("NTF-SEND-12", 400)
        for each in self.existing:
            if each.matches(identities, tags):
                expires = self.now + (seconds if each.type in PUSH else FOUR_WEEKS)
                self.phones[each.address].receive(Message(text, each, expires), self.now)
        return seconds


def check_count(given: Sequence[str], rule: str, choice: str) -> None:
    """Raise Refused for more items than are allowed."""
    if len(given) > MAX_ITEMS:
        raise Refused(rule, 400, choice=choice)


def day(number: int | None) -> str | None:
    """Return a day, counted from 1970-01-01, as YYYY-MM-DD."""
    return None if number is None else datetime.fromtimestamp(number * DAY, UTC).strftime("%Y-%m-%d")
