"""Reference model of publishers, subscriptions, quotas and events, written from document 3 and the choices alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from labkit.conformance.models.calls import Refused

ADDED, UPDATED, REMOVED = "subscriberAdded", "subscriberUpdated", "subscriberRemoved"
DEFAULTS = {"region": "north", "zone": "in"}
RESTRICTED = "zone"
QUOTAS = ("calls_daily", "calls_monthly")
NAMED = ("floor", "level", "zone")  # properties of an operation's data

Table = dict[str, Any]


@dataclass(slots=True)
class Subscribed:
    """A subscription. id: as the target made it; route: the event that receives its events; calls: by day and month."""

    key: str
    parameters: Table
    quota: dict[str, int]
    created: Fraction
    updated: Fraction
    id: str | None = None
    route: str | None = None
    calls: dict[str, int] = field(default_factory=dict)

    @property
    def effective(self) -> Table:
        """The parameters, with the defaults of parameters that are not set."""
        return DEFAULTS | self.parameters

    def shown(self) -> Table:
        """Return the fields that listSubscribers shows."""
        triggers = {} if self.route is None else {"changed": {"service": "scripts", "event": self.route}}
        return {"parameters": self.effective, "quota": self.quota, "triggers": triggers}


@dataclass(slots=True)
class Interfaces:
    """The subscriptions of all publishers.

    welcome: by publisher, the subscribers whose business is on its whitelist; silent: subscribers without a handler
    except the one that events may be routed to; heard: by publisher, the events about its subscribers; got: by
    subscriber, the events that its handlers received.
    """

    welcome: Mapping[str, frozenset[str]]
    silent: frozenset[str]
    all: dict[tuple[str, str], Subscribed] = field(default_factory=dict)  # by subscriber and publisher
    heard: dict[str, list[Table]] = field(default_factory=dict)
    got: dict[str, list[Table]] = field(default_factory=dict)
    now: Fraction = Fraction(0)

    def of(self, publisher: str) -> list[tuple[str, Subscribed]]:
        """Return the subscriptions of a publisher, with their subscribers, in order."""
        return [(who, each) for (who, whose), each in self.all.items() if whose == publisher]

    def by_key(self, subscriber: str, key: str) -> tuple[str, Subscribed] | None:
        """Return the publisher and the subscription with a key, in any letter case; None without one."""
        for (who, publisher), each in self.all.items():
            if who == subscriber and each.key.lower() == key.lower():
                return publisher, each
        return None

    def hear(self, kind: str, who: str, publisher: str) -> None:
        """Store an event about a subscriber for its publisher."""
        event = {"event": kind, "solution": who, "parameters": dict(self.all[who, publisher].effective)}
        self.heard.setdefault(publisher, []).append(event)

    def subscribe(self, who: str, publisher: str, key: str, parameters: Table, quota: Table) -> str | None:
        """Add a subscription, or return the rule by which it is refused."""
        if who not in self.welcome[publisher]:
            return "IFC-LIFE-4"
        if (who, publisher) in self.all:
            return "IFC-LIFE-13"
        if self.by_key(who, key):
            return "IFC-LIFE-9"
        if not valid(parameters):
            return "IFC-LIFE-11"
        self.all[who, publisher] = Subscribed(key, dict(parameters), dict(quota), self.now, self.now)
        self.hear(ADDED, who, publisher)
        return None

    def update(
        self,
        who: str,
        publisher: str,
        parameters: Table,
        quota: Table,
        route: tuple[str | None] | None = None,
    ) -> None:
        """Change a subscription, and store the event if anything changed. Raises Refused."""
        found = self.all.get((who, publisher))
        if found is None:
            raise Refused("IFC-SUB-12", 404)
        if not valid(parameters):
            raise Refused("IFC-SUB-14", 400)
        after = found.parameters | parameters
        limits: Table = {name: value for name, value in {**found.quota, **quota}.items() if value is not None}
        routed = found.route if route is None else route[0]
        if (after, limits, routed) != (found.parameters, found.quota, found.route):
            found.parameters, found.quota, found.route, found.updated = after, limits, routed, self.now
            self.hear(UPDATED, who, publisher)

    def configure(self, who: str, key: str, parameters: Table) -> Table:
        """Apply Config.setParameters of a subscriber."""
        found = self.by_key(who, key)
        if found is None:
            raise Refused("IFC-CALL-11", 404)
        if RESTRICTED in parameters:
            raise Refused("IFC-CALL-13", 403, *([] if valid(parameters) else [400]))
        self.update(who, found[0], parameters, {})
        return {"parameters": found[1].effective}

    def remove(self, who: str, publisher: str) -> None:
        """End a subscription, and store the event."""
        self.hear(REMOVED, who, publisher)
        del self.all[who, publisher]

    def call(self, who: str, key: str, arguments: Table) -> Table:
        """Return the data that the handler of a call returns. Raises Refused."""
        found = self.by_key(who, key)
        if found is None or service(found[1].key) != service(key):
            raise Refused("IFC-CALL-11", 404)
        subscribed = found[1]
        configured = subscribed.effective
        data = {name: configured[name] for name in NAMED if name in configured} | arguments
        data[RESTRICTED] = configured[RESTRICTED]
        data.setdefault("level", 3)
        if not all(isinstance(data.get(name, 0), int) for name in ("floor", "level")):
            raise Refused("IFC-CALL-9", 400)
        moment = datetime.fromtimestamp(int(self.now), UTC)
        periods = (f"{moment:%F}", f"{moment:%Y-%m}")
        for period, name in zip(periods, QUOTAS, strict=True):
            if name in subscribed.quota and subscribed.calls.get(period, 0) >= subscribed.quota[name]:
                rule = "IFC-QUO-2" if name == QUOTAS[0] else "IFC-QUO-3"
                raise Refused(rule, 403, choice="IFC-QUO-5")
        for period in periods:
            subscribed.calls[period] = subscribed.calls.get(period, 0) + 1
        return data

    def handled(
        self, publisher: str, data: object, only: str | None = None
    ) -> Iterator[tuple[str, Table | None]]:
        """Yield each receiver of an event with the result of its handler; None without a handler."""
        for who, each in self.of(publisher):
            if only not in (None, who):
                continue
            if each.route is None and who in self.silent:
                yield who, None
                continue
            made: Table = {"who": who, "by": "routed" if each.route else each.key.lower()}
            made |= {} if data is None else {"data": data}
            self.got.setdefault(who, []).append(made)
            yield who, made

    def listed(self, publisher: str, wanted: Table, offset: int, limit: int) -> Table:
        """Return the result of listSubscribers. Raises Refused."""
        if offset < 0 or not 1 <= limit <= 1000:
            raise Refused("IFC-SUB-10", 400)
        found = [
            {"solution_id": who, **each.shown()}
            for who, each in self.of(publisher)
            if all(name in each.effective and each.effective[name] == value for name, value in wanted.items())
        ]
        return {"items": found[offset : offset + limit], "total": len(found)}


def service(key: str) -> str:
    """Return the name under which scripts call a publisher."""
    return key[:1].upper() + key[1:]


def valid(parameters: Mapping[str, Any]) -> bool:
    """Return whether parameters have the types that the publishers declare."""
    texts = all(isinstance(parameters.get(name, ""), str) for name in ("region", "zone"))
    return texts and isinstance(parameters.get("floor", 0), int)
