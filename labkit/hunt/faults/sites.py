"""Places of a story that faults can hit, as its journal shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.device_api.api import ENDPOINTS
from labkit.providers.social.kinds import KNOWN, kind_of
from labkit.services.keystore.commands import COMMANDS
from labkit.settings.places import parse_place

MOMENTS = 60  # of one place that are kept, evenly spread over the story
IDENTITIES = 500  # of one place that are kept
MESSAGING = re.compile(r"/v1/Services/[^/]+/(Bindings|Notifications)")
MESSAGE = re.compile(r"WEBSOCKET (/\S*) (received|sent) (?:text|bytes)")  # of a websocket, in the journal
PLACEHOLDER = re.compile(r"\{[^{}/]+\}")  # in the path of a route
MESSAGING_HOST = "messaging.*"
PROGRAM = "firmware/"  # begins the name of a program in the journal
STEPS = ("token", "userinfo", "request_token")  # of providers that solutions ask, not people


@dataclass(frozen=True)
class FaultSite:
    """A place that faults can hit.

    where: as of `lab.faults.add`, empty for the devices of a product; product, solution: whose it is; identities: of
    the devices that were there; moments: seconds from the beginning of the story at which something was there;
    has_body: whether an answer had a body; given: conditions, as `if_given` of a fault; request, host: of the step of
    a provider.
    """

    where: str
    product: str | None = None
    solution: str | None = None
    identities: tuple[str, ...] = ()
    moments: tuple[float, ...] = ()
    has_body: bool = False
    given: Mapping[str, str] | None = None
    request: str = ""
    host: str = ""


@dataclass(frozen=True)
class Sites:
    """The places of a story.

    seconds: lab time that the story takes. requests: of devices; calls: of service operations by scripts; events: with
    a handler; outgoing: requests of the platform; providers: steps; quotas: calls that a full quota would refuse;
    devices: of each product; programs: of `lab.firmware`, by name; solutions: ids of those with a handler that ran;
    messages: of websockets, in one direction.
    """

    seconds: float = 0.0
    requests: tuple[FaultSite, ...] = ()
    calls: tuple[FaultSite, ...] = ()
    events: tuple[FaultSite, ...] = ()
    outgoing: tuple[FaultSite, ...] = ()
    providers: tuple[FaultSite, ...] = ()
    quotas: tuple[FaultSite, ...] = ()
    devices: tuple[FaultSite, ...] = ()
    programs: tuple[FaultSite, ...] = ()
    solutions: tuple[str, ...] = ()
    messages: tuple[FaultSite, ...] = ()

    @property
    def moments(self) -> tuple[float, ...]:
        """Seconds from the beginning of the story at which anything was anywhere."""
        groups = (self.requests, self.calls, self.events, self.messages, self.outgoing, self.providers)
        return _spread(sorted({each for group in groups for site in group for each in site.moments}))


@dataclass
class _Found:
    """Events seen at a place."""

    given: Mapping[str, str] | None = None
    request: str = ""
    host: str = ""
    has_body: bool = False
    identities: dict[str, None] = field(default_factory=dict)
    moments: dict[float, None] = field(default_factory=dict)


# Group, where, product, solution, and what else tells two places apart.
_Key = tuple[str, str, str | None, str | None, str | None]


def sites_of(journal: str, began: float, seconds: float) -> Sites:
    """Return the places that a play has seen.

    journal: of the play, in its canonical form; began: lab time at which the story began; seconds: that it took.
    """
    found = _Finder(began)
    for line in journal.splitlines():
        found.look(json.loads(line))
    return found.sites(seconds)


class _Finder:
    def __init__(self, began: float) -> None:
        self._began = began
        self._published: set[tuple[str, str]] = set()  # operations of other solutions, by caller
        self._programs: set[str] = set()  # names
        self._found: dict[_Key, _Found] = {}

    def look(self, record: dict[str, Any]) -> None:
        """Note the place of one record."""
        actor = record["actor"].rpartition("#")[0]
        moment = max(0.0, round(record["time"] / 1_000_000 - self._began, 6))
        match record["kind"]:
            case "request":
                self._request(record, actor, moment)
            case "start":
                self._programs.add(name := actor.removeprefix(PROGRAM))
                self._note(("programs", name, None, None, None), moment)
            case "event":
                if isinstance(record["detail"], Mapping) and "to" in record["detail"]:
                    self._published.add((actor, record["summary"]))
            case "message" if (passed := MESSAGE.fullmatch(record["summary"])) is not None:
                where = f"WEBSOCKET {PLACEHOLDER.sub('*', passed[1])} {passed[2]}"
                self._note(("messages", where, None, actor, None), moment)
            case "call" if record["cause"] is not None and _is_place(record["summary"], "call"):
                self._call(record, actor, moment)
            # calls of an interface are no events on their way to a handler
            case "script" if record["cause"] is not None and (
                _is_place(record["summary"], "event") and not record["summary"].startswith("interface ")
            ):
                source = record["cause"].rpartition("#")[0]
                product, slash, identity = source.partition("/")
                of_device = bool(slash) and record["summary"].startswith("device")
                self._note(
                    ("events", record["summary"], product if of_device else None, actor, None),
                    moment,
                    identity if of_device else None,
                )

    def _request(self, record: dict[str, Any], actor: str, moment: float) -> None:
        method, _, path = record["summary"].partition(" ")
        product, slash, identity = actor.partition("/")
        provider = _provider_step(actor, path)
        if provider is not None and record["cause"] is None and provider[2] == MESSAGING_HOST:
            return  # asked by the story itself
        if provider is not None:
            step, pattern, host = provider
            found = self._note(("providers", step, None, None, method), moment)
            found.request, found.host = f"{method} {pattern}", host
            self._note(("outgoing", f"{method} https://{host}{pattern}", None, None, None), moment)
        elif path in ENDPOINTS:
            found = self._note(
                ("requests", record["summary"], product, None, None), moment, identity if slash else None
            )
            found.has_body |= (record["size"] or 0) > 1
            if slash and identity in self._programs:
                self._note(("programs", identity, None, None, None), moment)
            elif slash:
                self._note(("devices", "", product, None, None), moment, identity)

    def _call(self, record: dict[str, Any], actor: str, moment: float) -> None:
        name = record["summary"]
        self._note(("calls", name, None, actor, None), moment)
        operation = name.partition(".")[2]
        given = (record["detail"] or {}).get("parameters") or {}
        command = given.get("command") if isinstance(given, Mapping) else None
        if name == "Keystore.command" and isinstance(command, str):
            if command in COMMANDS and COMMANDS[command].grows:
                self._note(("quotas", name, None, actor, command), moment).given = {"command": command}
        elif name in ("Keystore.set", "Keystore.mset") or (actor, operation) in self._published:
            self._note(("quotas", name, None, actor, None), moment)

    def _note(self, key: _Key, moment: float, identity: str | None = None) -> _Found:
        found = self._found.setdefault(key, _Found())
        found.moments[moment] = None
        if identity and len(found.identities) < IDENTITIES:
            found.identities[identity] = None
        return found

    def sites(self, seconds: float) -> Sites:
        """Return all places, each group in the order of their names."""
        groups: dict[str, list[FaultSite]] = {}
        for key in sorted(self._found, key=lambda key: [*map(str, key)]):
            group, where, product, solution, _ = key
            found = self._found[key]
            site = FaultSite(
                where,
                product,
                solution,
                tuple(sorted(found.identities)),
                _spread(sorted(found.moments)),
                found.has_body,
                found.given,
                found.request,
                found.host,
            )
            groups.setdefault(group, []).append(site)
        calls = {each.solution for name in ("calls", "events") for each in groups.get(name, ())}
        return Sites(
            seconds,
            solutions=tuple(sorted(each for each in calls if each is not None)),
            **{name: tuple(sites) for name, sites in groups.items()},
        )


def _is_place(text: str, kind: str) -> bool:
    try:
        return parse_place(text).kind == kind
    except ValueError:
        return False


def _provider_step(actor: str, path: str) -> tuple[str, str, str] | None:
    """Return step, path and host of a solution's request to a provider, as patterns; None for another request."""
    kind, _, name = actor.partition("/")
    if kind == "messaging" and (match := MESSAGING.fullmatch(path)):
        return f"provider messaging {match[1].lower()}", f"/v1/Services/*/{match[1]}", MESSAGING_HOST
    if kind != "social":
        return None
    protocols = [KNOWN[name].protocol] if name in KNOWN else ["oauth2", "oauth1"]
    for protocol in protocols:
        described = kind_of(name, protocol)
        for step in STEPS:
            if path == getattr(described, step):
                return f"provider {name} {step}", path, f"{name}.social.*"
    return None


def _spread(values: list[float]) -> tuple[float, ...]:
    """Return at most MOMENTS of the values, evenly spread over them, the first among them."""
    if len(values) <= MOMENTS:
        return tuple(values)
    return tuple(values[number * len(values) // MOMENTS] for number in range(MOMENTS))
