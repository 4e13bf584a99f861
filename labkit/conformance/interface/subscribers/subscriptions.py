"""Driver of the model of subscriptions: two publishers and three subscribers of two businesses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.conformance.interface.partners import INTERFACE
from labkit.conformance.interface.subscribers.model import (
    ADDED,
    REMOVED,
    RESTRICTED,
    UPDATED,
    Interfaces,
    Table,
    service,
)
from labkit.conformance.models.calls import CallResult, Refused
from labkit.conformance.models.commands import Commands, dicts, optional, several
from labkit.conformance.models.game import LONG, ScriptGame
from labkit.conformance.models.rules import Rules
from labkit.conformance.target import LAB_YAML, Target
from labkit.core.errors import SettingsError

if TYPE_CHECKING:
    from labkit.lab.interface import Subscription

CALL = LAB_YAML.parent / "fixtures" / "solutions" / "call"
PUBLISHERS = {"modellights": ["acme", "labkit"], "modelradio": ["acme"]}  # the businesses on their whitelists
SUBSCRIBERS = {"modelhome": "acme", "modelflat": "acme", "modelshed": "labkit"}
SOLUTIONS = (*PUBLISHERS, *SUBSCRIBERS)
SILENT = "modelshed"
KEYS = ("lights", "radio", "own")
KEEP = "Keystore.command{key = '@key', command = 'rpush', args = {to_json(@value)}}\n"
SUBSCRIPTION = "{event = '@kind', solution = subscription.solution_id, parameters = subscription.parameters}"
HEARD = KEEP.replace("@key", "heard").replace("@value", SUBSCRIPTION)
GOT = "local made = {who = '@who', by = '@by', data = event}\n" + KEEP.replace("@key", "got").replace(
    "@value", "made"
)

SECONDS = (0.25, 3599.75, 86_399.0, 86_400.0, 86_400 * 30.5)
PLAIN: tuple[tuple[dict[str, Any], ...], ...] = (({},), ({},) * 3, ({},) * 5)
DATA: tuple[object, ...] = (None, 0, "text é😀", {"level": 1}, [1, "a"], True, "")
QUOTAS = ("calls_daily", "calls_monthly")
VALUES = (1, 2, "x", "é", ["a"])
ANY_KEY = ("lights", "lights", "radio", "own", "OWN", "Lights")
NEW_KEY = ("lights", "radio", "own", "OWN", "LIGHTS")
PARAMETERS = dicts(("region", "floor", "more", "zone"), VALUES, 2)
GOOD = optional(floor=range(3), region=("north", "x"), more=VALUES)
BURSTS = several(dicts(("region", "floor", "level", "zone", "odd"), (0, 7, "y"), 2), 3, 1)
CHANGES = dicts(QUOTAS, (None, 0, 1, 2))
ROUTES = (None, (None,), ("go",), ("go",))

command = Commands(
    who=sorted(SUBSCRIBERS),
    publisher=("modellights", *sorted(PUBLISHERS)),
    parameters=PARAMETERS,
    quota=dicts(QUOTAS, range(3)),
    data=DATA,
    mode=("sync", "async", "default"),
)
spending = Commands(
    count=range(1, 4),
    then=(86_400.0, 86_400 * 30.5, 86_400 * 365.0, {"region": "x"}, {"region": "north", "floor": 2}),
)


def definition(whitelist: Sequence[str]) -> Table:
    """Return the configuration of a publisher of the model."""
    properties = {
        "floor": {"type": "integer"},
        "level": {"type": "integer", "default": 3},
        "zone": {"type": "string"},
    }
    return {
        "whitelist": list(whitelist),
        "parameters": [
            {"name": "region", "default": "north"},
            {"name": "floor", "type": "integer"},
            {"name": RESTRICTED, "restricted": True, "default": "in"},
        ],
        "operations": [
            {
                "name": "echo",
                "parameters": {"type": "object", "properties": properties},
                "script": "return event",
            }
        ],
        "events": [{"name": "changed"}],
    }


class Subscriptions(ScriptGame):
    """One run of the model. It reuses the solutions of earlier runs, but not their stored data and subscriptions."""

    default = "IFC-CALL-4"
    average = LONG
    solutions = SOLUTIONS
    ordered = True

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self._handles: dict[tuple[str, str], Subscription] = {}
        welcome = {
            id: frozenset(who for who, business in SUBSCRIBERS.items() if business in businesses)
            for id, businesses in PUBLISHERS.items()
        }
        self.model = Interfaces(welcome, frozenset([SILENT]))

    async def begin(self) -> None:
        await self._target.in_lab(self._prepare)
        await self.clock.begin()
        for solution in SOLUTIONS:
            for key in ("heard", "got"):
                self._calls.add(SOLUTIONS.index(solution), "Keystore.delete", {"key": key})
        await self._calls.send()
        await self.subscribe("modelshed", "modellights", "lights", {}, {})
        await self.subscribe("modelhome", "modellights", "lights", {}, {"calls_daily": 2})
        await self.subscribe("modelflat", "modelradio", "radio", {"floor": 1}, {"calls_monthly": 3})

    async def end(self) -> None:
        """Compare all subscriptions, the events of publishers and the events of subscribers."""
        for publisher in PUBLISHERS:
            await self.listed(publisher, {}, 0, 20)
        await self._calls.send()
        await self._target.settle()
        self._kept(self.model.heard, "heard", PUBLISHERS, "IFC-LIFE-3")
        self._kept(self.model.got, "got", SUBSCRIBERS, "IFC-TRIG-1")
        await self._calls.send()

    async def close(self) -> None:
        for handle in self._handles.values():
            await self._target.in_lab(handle.remove)
        await self._target.settle()

    async def pause(self) -> None:
        """Finish pending calls and events, since the platform is about to restart."""
        await self._calls.send()
        await self._target.settle()

    # ---- what commands do

    @command(key=NEW_KEY)
    @command(key=NEW_KEY, parameters=GOOD)
    async def subscribe(self, who: str, publisher: str, key: str, parameters: Table, quota: Table) -> None:
        """Subscribe by a handle of the subscriber."""
        await self._calls.send()
        if self._calls.diverged:
            return
        self.model.now = self.clock.now
        wrong = self.model.subscribe(who, publisher, key, parameters, quota)
        solution = await self._target.in_lab(self._target.lab.solution, who)
        given = partial(solution.subscribe, publisher, script_key=key, parameters=parameters, quota=quota)
        made: Subscription | None = None
        with suppress(SettingsError):
            made = await self._target.in_lab(given)
        if wrong == "IFC-LIFE-13":  # an existing subscription with the same settings stays
            return
        what, taken = f"is the subscription of {who} taken?", made is not None
        if not self._rules.holds(wrong or "IFC-LIFE-1", what, taken, wrong is None):
            self._calls.diverged = True
        if made is not None:
            self._handles[who, publisher] = made
        if made is not None and wrong is None:
            self.model.all[who, publisher].id = (await self._target.in_lab(getattr, made, "info")).id

    @command(quota=CHANGES, route=ROUTES)
    @command(parameters=GOOD, quota=CHANGES, route=ROUTES)
    async def update(
        self, who: str, publisher: str, parameters: Table, quota: Table, route: tuple[str | None] | None
    ) -> None:
        """Change a subscription by its handle."""
        handle = self._handles.get((who, publisher))
        if handle is None:
            return
        await self._calls.send()
        if self._calls.diverged:
            return
        self.model.now = self.clock.now
        triggers = (
            {} if route is None else {"changed": route[0] and {"service": "scripts", "event": route[0]}}
        )
        wanted = True
        try:
            self.model.update(who, publisher, parameters, quota, route)
        except Refused:
            wanted = False
        change = partial(handle.update, parameters=parameters, quota=quota, triggers=triggers)
        try:
            await self._target.in_lab(change)
            seen = True
        except SettingsError:
            seen = False
        self._calls.diverged = not self._rules.holds("IFC-LIFE-11", "is the update taken?", seen, wanted)

    @command()
    async def remove(self, who: str, publisher: str) -> None:
        """End a subscription by its handle."""
        handle = self._handles.pop((who, publisher), None)
        if handle is None:
            return
        await self._calls.send()
        if not self._calls.diverged:
            self.model.remove(who, publisher)
        await self._target.in_lab(handle.remove)

    @command(2, key=ANY_KEY, arguments=BURSTS)
    @command(key=("lights", "lights", "radio"), arguments=PLAIN)
    async def call(self, who: str, key: str, arguments: Sequence[Table]) -> None:
        """Call an operation several times, one after the other."""
        for each in arguments:
            self._same(
                who,
                f"{service(key)}.echo",
                dict(each),
                "IFC-CALL-6",
                partial(self.model.call, who, key, each),
            )

    @spending(who=["modelflat"], key=["radio"], publisher=["modelradio"])
    @spending(who=["modelhome"], key=["lights"], publisher=["modellights"])
    async def spend(self, who: str, key: str, publisher: str, count: int, then: float | Table) -> None:
        """Call about as often as a quota allows, then let seconds pass or change parameters, and call again."""
        await self.call(who, key, [{}] * count)
        if isinstance(then, dict):
            await self.set(publisher, who, then, {})
        else:
            await self.advance(then)
        await self.call(who, key, [{}] * 2)

    @command(key=("lights", "radio"), parameters=({"zone": "x"}, {"zone": "x", "floor": 2}, {"region": "x"}))
    @command(key=ANY_KEY[:-1])
    async def configure(self, who: str, key: str, parameters: Table) -> None:
        """Call Config.setParameters."""
        body = {"service": key, "parameters": parameters}
        change = partial(self.model.configure, who, key, parameters)
        self._same(who, "Config.setParameters", body, "IFC-LIFE-8", change)

    @command(
        publisher=["modellights"],
        who=["modelhome"],
        parameters=[{}],
        quota=({"calls_monthly": 5}, {"calls_daily": 1}),
    )
    @command()
    @command(parameters=GOOD)
    async def set(self, publisher: str, who: str, parameters: Table, quota: Table) -> None:
        """Call setSubscriber."""
        body = {"subscriber_id": who, "parameters": parameters, "quota": quota}
        lifted = {"calls_daily": None, "calls_monthly": None}
        change = partial(self.model.update, who, publisher, parameters, quota or lifted)
        self._same(publisher, f"{INTERFACE}.setSubscriber", body, "IFC-SUB-11", change)

    @command()
    async def get(self, publisher: str, who: str) -> None:
        """Call getSubscriber."""

        def get() -> Table:
            found = self.model.all.get((who, publisher))
            if found is None:
                raise Refused("IFC-SUB-15", 404)
            return {"id": found.id, "solution_id": who, **found.shown(), "times": True}

        known = self.model.all.get((who, publisher))
        times = (None, None) if known is None else (known.created, known.updated)

        def see(found: Any) -> Any:
            if not isinstance(found, dict):
                return found
            both = zip((found.pop("created_at", None), found.pop("updated_at", None)), times, strict=True)
            fit = all(
                abs(datetime.fromisoformat(str(text)).timestamp() - (time or 0)) < 0.01 for text, time in both
            )
            return {**found, "times": fit}

        self._same(publisher, f"{INTERFACE}.getSubscriber", {"subscriber_id": who}, "IFC-SUB-7", get, see)

    @command(wanted=PARAMETERS, offset=range(-1, 4), limit=(1, 20, 1000, 1001, 0))
    @command(wanted=GOOD, offset=range(3), limit=range(1, 4))
    async def listed(self, publisher: str, wanted: Table, offset: int, limit: int) -> None:
        """Call listSubscribers."""

        def see(found: Any) -> Any:
            if not isinstance(found, dict) or not isinstance(found.get("items"), list):
                return found
            names = ("solution_id", "parameters", "quota", "triggers")
            return {**found, "items": [{name: each.get(name) for name in names} for each in found["items"]]}

        body = {"parameters": wanted, "offset": offset, "limit": limit}
        rule = "IFC-SUB-9" if wanted else "IFC-SUB-8"
        change = partial(self.model.listed, publisher, wanted, offset, limit)
        self._same(publisher, f"{INTERFACE}.listSubscribers", body, rule, change, see)

    @command(mode=["sync"])
    @command()
    async def trigger(self, publisher: str, data: object, mode: str) -> None:
        """Call trigger; in mode async, wait until its events are handled."""
        synchronous = mode == "sync"

        def change() -> Any:
            found = []
            for who, given in self.model.handled(publisher, data):
                entry: Table = {"solution_id": who, "instance_id": self.model.all[who, publisher].id}
                if synchronous:
                    entry |= {"status": 404} if given is None else {"status": 200, "result": given}
                found.append(entry)
            return found

        def see(found: Any) -> Any:
            if not isinstance(found, list):
                return found
            shown = [each if each.get("status") == 200 else {**each, "result": None} for each in found]
            return [{name: value for name, value in each.items() if value is not None} for each in shown]

        body = {"event": "changed", "data": data} | ({} if mode == "default" else {"mode": mode})
        self._same(
            publisher,
            f"{INTERFACE}.trigger",
            body,
            "IFC-TRIG-2" if synchronous else "IFC-TRIG-3",
            change,
            see,
        )
        if not synchronous:
            await self._calls.send()
            await self._target.settle()

    @command(by_id=bool)
    async def trigger_one(self, publisher: str, who: str, data: object, by_id: bool, mode: str) -> None:
        """Call triggerOne, with the id of the solution or of the subscription."""
        found = self.model.all.get((who, publisher))

        def change() -> Any:
            if found is None:
                raise Refused("IFC-TRIG-12", 404, choice="IFC-TRIG-14")
            [(_, given)] = self.model.handled(publisher, data, who)
            if mode == "async":
                return None
            if given is None:
                raise Refused("IFC-TRIG-15", 404)
            return given

        others = (each for (name, _), each in self.model.all.items() if name == who)
        asked = found or next(others, None)  # another publisher's subscription id is unknown to this one
        target = asked.id if by_id and asked is not None else who
        body = {"target": target, "event": "changed", "data": data} | (
            {} if mode == "default" else {"mode": mode}
        )
        self._same(publisher, f"{INTERFACE}.triggerOne", body, "IFC-TRIG-7", change)
        if mode == "async":
            await self._calls.send()
            await self._target.settle()

    @command(solution=(*sorted(SUBSCRIBERS), *sorted(PUBLISHERS)))
    async def reload(self, solution: str) -> None:
        """Reload the folder of a solution, which changes nothing here."""
        await self._calls.send()
        handle = await self._target.in_lab(self._target.lab.solution, solution)
        await self._target.in_lab(handle.reload)

    @command(seconds=SECONDS)
    async def advance(self, seconds: float) -> None:
        """Let time pass, after pending calls."""
        await self._advance(round(seconds * 1024))

    # ---- comparing

    def _same(
        self,
        solution: str,
        called: str,
        body: Table,
        rule: str,
        change: Callable[[], object],
        see: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.model.now = self.clock.now
        self._calls.compare(SOLUTIONS.index(solution), called, body, rule, change, see)

    def _kept(
        self, wanted: Mapping[str, list[Table]], key: str, solutions: Mapping[str, Any], rule: str
    ) -> None:
        """Compare the events that handlers stored in the Keystore of their solutions."""
        for solution in solutions:
            own = wanted.get(solution, [])

            def judge(given: CallResult, solution: str = solution, own: list[Table] = own) -> None:
                if not self._calls.diverged:
                    found = given.value.get("value") if isinstance(given.value, dict) else None
                    seen = [parsed(each) for each in found] if isinstance(found, list) else found
                    self._rules.holds(rule, f"what {solution} {key}", seen, own, given)

            body = {"key": key, "command": "lrange", "args": [0, -1]}
            self._calls.add(SOLUTIONS.index(solution), "Keystore.command", body, judge)

    def _prepare(self) -> None:
        """Create the solutions, unless an earlier run did. Runs in a thread."""
        lab = self._target.lab
        if SILENT in self._target.reused_solutions:
            return
        self._target.reused_solutions.add(SILENT)
        for id, businesses in PUBLISHERS.items():
            made = lab.solution(id, path=CALL, services={INTERFACE: definition(businesses)})
            for kind in (ADDED, UPDATED, REMOVED):
                made.on("interface", kind, lua=HEARD.replace("@kind", kind))
        for id, business in SUBSCRIBERS.items():
            made = lab.solution(id, path=CALL, business=business)
            made.on("scripts", "go", lua=handler(id, "routed"))
            for key in KEYS if id != SILENT else ():
                made.on(key, "changed", lua=handler(id, key))


def handler(who: str, by: str) -> str:
    """Return a script that stores its event, and returns it."""
    return f"{GOT.replace('@who', who).replace('@by', by)}return made"


def parsed(text: object) -> Any:
    """Return the value of JSON text."""
    return json.loads(str(text))
