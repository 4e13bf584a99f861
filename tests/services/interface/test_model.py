"""Random stories of two publishers and three subscribers of two businesses, beside a small model of document 3.

The model knows what the document and the settled choices say, and nothing of how the service does it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.core.errors import SettingsError
from tests.services.interface.environment import START, Environment, environment, solution

PUBLISHERS = {"lights": ["acme", "labkit"], "radio": ["acme"]}  # the businesses on their whitelists
SUBSCRIBERS = {"home": "acme", "flat": "acme", "shed": "labkit"}
DEFAULTS = {"region": "north"}
FIRST = (("home", "lights"), ("flat", "radio"), ("shed", "lights"))  # so that there is something to play with
KINDS = ("subscriberAdded", "subscriberUpdated", "subscriberRemoved")
FORBIDDEN, MISSING, WRONG = 403, 404, 400


def definition(publisher: str) -> dict[str, Any]:
    return {
        "whitelist": PUBLISHERS[publisher],
        "parameters": [
            {"name": "region", "default": "north"},
            {"name": "floor", "type": "integer"},
        ],
        "operations": [
            {
                "name": "echo",
                "parameters": {
                    "type": "object",
                    "properties": {"floor": {"type": "integer"}, "level": {"type": "integer", "default": 3}},
                },
                "script": "return event",
            }
        ],
        "events": [{"name": "changed"}],
    }


@dataclass
class Subscribed:
    """What the model knows of a subscription."""

    key: str
    parameters: dict[str, Any]
    quota: dict[str, int]
    route: str | None
    position: int
    days: dict[str, int] = field(default_factory=dict)
    months: dict[str, int] = field(default_factory=dict)

    @property
    def effective(self) -> dict[str, Any]:
        return DEFAULTS | self.parameters


class Model:
    """The subscriptions, their quotas and events, as the document has them."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], Subscribed] = {}  # by subscriber and publisher
        self.heard: list[tuple[str, str, str, dict[str, Any]]] = []
        self.now = START
        self.count = 0

    def hear(self, kind: str, subscriber: str, publisher: str, parameters: dict[str, Any]) -> None:
        self.heard.append((publisher, kind, subscriber, dict(parameters)))

    def of(self, publisher: str) -> list[tuple[str, Subscribed]]:
        found = [(who, each) for (who, whose), each in self.all.items() if whose == publisher]
        return sorted(found, key=lambda each: each[1].position)

    def by_key(self, subscriber: str, key: str) -> tuple[str, Subscribed] | None:
        for (who, publisher), each in self.all.items():
            if who == subscriber and each.key.lower() == key.lower():
                return publisher, each
        return None

    def subscribe(
        self, who: str, publisher: str, key: str, parameters: dict[str, Any], quota: dict[str, int]
    ) -> bool:
        if (who, publisher) in self.all or SUBSCRIBERS[who] not in PUBLISHERS[publisher]:
            return False
        if self.by_key(who, key) or not valid(parameters):
            return False
        self.count += 1
        self.all[who, publisher] = Subscribed(key, dict(parameters), dict(quota), None, self.count)
        self.hear(KINDS[0], who, publisher, DEFAULTS | parameters)
        return True

    def update(
        self,
        who: str,
        publisher: str,
        parameters: dict[str, Any],
        quota: dict[str, int | None],
        route: tuple[str | None] | None = None,
    ) -> int | None:
        found = self.all.get((who, publisher))
        if found is None:
            return MISSING
        if not valid(parameters):
            return WRONG
        after = found.parameters | parameters
        limits = {name: value for name, value in (found.quota | quota).items() if value is not None}
        routed = found.route if route is None else route[0]
        if (after, limits, routed) != (found.parameters, found.quota, found.route):
            found.parameters, found.quota, found.route = after, limits, routed
            self.hear(KINDS[1], who, publisher, found.effective)
        return None

    def remove(self, who: str, publisher: str) -> None:
        found = self.all.pop((who, publisher), None)
        if found is not None:
            self.hear(KINDS[2], who, publisher, found.effective)

    def call(self, who: str, key: str, arguments: dict[str, Any]) -> Any:
        found = self.by_key(who, key)
        if found is None:
            return MISSING
        subscribed = found[1]
        configured = subscribed.effective
        given = {name: configured[name] for name in ("floor", "level") if name in configured} | arguments
        given.setdefault("level", 3)
        if not all(isinstance(given.get(name, 0), int) for name in ("floor", "level")):
            return WRONG
        moment = datetime.fromtimestamp(self.now, UTC)
        day, month = f"{moment:%F}", f"{moment:%Y-%m}"
        for counts, period, name in (
            (subscribed.days, day, "calls_daily"),
            (subscribed.months, month, "calls_monthly"),
        ):
            if name in subscribed.quota and counts.get(period, 0) >= subscribed.quota[name]:
                return FORBIDDEN
        subscribed.days[day] = subscribed.days.get(day, 0) + 1
        subscribed.months[month] = subscribed.months.get(month, 0) + 1
        return given

    def handled(self, who: str, subscribed: Subscribed, data: Any) -> Any:
        """What the handler of a subscriber gives: `shed` has none but the one that events may be routed to."""
        if subscribed.route is not None:
            return [who, "routed", data]
        return MISSING if who == "shed" else [who, subscribed.key.lower(), data]


def valid(parameters: dict[str, Any]) -> bool:
    return isinstance(parameters.get("floor", 0), int) and isinstance(parameters.get("region", ""), str)


who = st.sampled_from(sorted(SUBSCRIBERS))
publisher = st.sampled_from(sorted(PUBLISHERS))
key = st.sampled_from(["lights", "lights", "radio", "own", "OWN"])
parameters = st.dictionaries(
    st.sampled_from(["region", "floor", "more"]), st.sampled_from([1, 2, "x", ["a"]]), max_size=2
)
limits = st.dictionaries(st.sampled_from(["calls_daily", "calls_monthly"]), st.integers(0, 2))
changes = st.dictionaries(
    st.sampled_from(["calls_daily", "calls_monthly"]), st.one_of(st.none(), st.integers(0, 2))
)
arguments = st.dictionaries(
    st.sampled_from(["region", "floor", "level", "odd"]), st.sampled_from([0, 7, "y"]), max_size=2
)
data = st.sampled_from([None, 0, "text", {"level": 1}, [1, {}]])
seconds = st.sampled_from([0.25, 3599.75, 86_399.999, 86_400.0, 86_400 * 30.5])

call = st.tuples(st.just("call"), who, key, arguments)
step = st.one_of(
    *[call] * 6,
    st.tuples(st.just("subscribe"), who, publisher, key, parameters, limits),
    st.tuples(
        st.just("update"), who, publisher, parameters, changes, st.sampled_from([None, (None,), ("go",)])
    ),
    st.tuples(st.just("set_parameters"), who, key, parameters),
    st.tuples(st.just("set_subscriber"), who, publisher, parameters, changes),
    st.tuples(st.just("trigger"), publisher, data),
    st.tuples(st.just("post"), publisher, data),
    st.tuples(st.just("trigger_one"), publisher, who, data, st.booleans()),
    st.tuples(st.just("list"), publisher, parameters, st.integers(0, 2), st.integers(1, 3)),
    st.tuples(st.just("remove"), who, publisher),
    st.tuples(st.just("advance"), seconds),
    st.tuples(
        st.sampled_from(["reload"] * 5 + ["reset"]), st.sampled_from(sorted(PUBLISHERS) + sorted(SUBSCRIBERS))
    ),
)


class Story:
    """Plays steps on both, and compares."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.model = Model()
        self.heard: list[tuple[str, str, str, dict[str, Any]]] = []
        self.posted: list[Any] = []
        for id in PUBLISHERS:
            for kind in KINDS:
                env.solutions.get(id).on("interface", kind, self.hearing(id, kind))
        for id in SUBSCRIBERS:
            made = env.solutions.get(id)
            made.on("scripts", "go", self.handling(id, "routed"))
            for name in ("lights", "radio", "own") if id != "shed" else ():
                made.on(name, "changed", self.handling(id, name))

    def hearing(self, publisher: str, kind: str) -> Any:
        async def hear(subscription: Any) -> None:
            self.heard.append((publisher, kind, subscription["solution_id"], subscription["parameters"]))

        return hear

    def handling(self, id: str, name: str) -> Any:
        async def handle(event: Any) -> Any:
            self.posted.append([id, name, event])
            return [id, name, event]

        return handle

    async def play(self, steps: list[tuple[Any, ...]]) -> None:
        for name, *values in steps:
            await getattr(self, f"do_{name}")(*values)
            assert self.heard == self.model.heard
        for id in PUBLISHERS:
            await self.do_list(id, {}, 0, 3)

    async def do_subscribe(self, who: str, publisher: str, key: str, *given: Any) -> None:
        parameters, quota = given
        expected = self.model.subscribe(who, publisher, key, parameters, quota)
        try:
            await self.env.interface.subscribe(
                who, publisher, script_key=key, parameters=parameters, quota=quota
            )
        except SettingsError:
            assert not expected
        else:
            assert expected

    async def do_call(self, who: str, key: str, arguments: dict[str, Any]) -> None:
        expected = self.model.call(who, key, arguments)
        service = key[:1].upper() + key[1:]
        found = self.model.by_key(who, key)
        if found is not None and found[1].key != key:  # names are exact, but for a publisher's id
            service = found[1].key[:1].upper() + found[1].key[1:]
        named = self.model.all.get((who, key))
        if found is None and named is not None:  # the publisher's id works too, whatever the key
            expected = self.model.call(who, named.key, arguments)
        answer = await self.env.call(who, f"{service}.echo", **arguments)
        assert (answer.get("status") if isinstance(expected, int) else answer) == expected

    async def do_update(self, who: str, publisher: str, *given: Any) -> None:
        parameters, quota, route = given
        found = self.env.interface.subscriptions.find(publisher, who)
        expected = self.model.update(who, publisher, parameters, quota, route)
        if found is None:
            assert expected == MISSING
            return
        triggers = (
            {} if route is None else {"changed": route[0] and {"service": "scripts", "event": route[0]}}
        )
        try:
            await self.env.interface.update(found, parameters=parameters, quota=quota, triggers=triggers)
        except SettingsError:
            assert expected == WRONG
        else:
            assert expected is None

    async def do_set_parameters(self, who: str, key: str, parameters: dict[str, Any]) -> None:
        found = self.model.by_key(who, key)
        expected = MISSING if found is None else self.model.update(who, found[0], parameters, {})
        answer = await self.env.call(who, "Config.setParameters", service=key, parameters=parameters)
        if found is None or expected is not None:
            assert answer["status"] == expected
        else:
            assert answer == {"parameters": found[1].effective}

    async def do_set_subscriber(self, who: str, publisher: str, *given: Any) -> None:
        parameters, quota = given
        expected = self.model.update(who, publisher, parameters, quota)
        answer = await self.env.call(
            publisher, "Interface.setSubscriber", subscriber_id=who, parameters=parameters, quota=quota
        )
        assert (answer or {}).get("status") == expected

    def expected(self, publisher: str, data: Any) -> Iterator[tuple[str, Any]]:
        for who, each in self.model.of(publisher):
            yield who, self.model.handled(who, each, data)

    async def do_trigger(self, publisher: str, data: Any) -> None:
        answer = await self.env.call(publisher, "Interface.trigger", event="changed", mode="sync", data=data)
        found = [
            (each["solution_id"], each["result"] if each["status"] == 200 else each["status"])
            for each in answer
        ]
        assert found == list(self.expected(publisher, data))

    async def do_post(self, publisher: str, data: Any) -> None:
        self.posted.clear()
        answer = await self.env.call(publisher, "Interface.trigger", event="changed", data=data)
        expected = list(self.expected(publisher, data))
        assert [each["solution_id"] for each in answer] == [who for who, _ in expected]
        await self.env.settle()
        assert sorted(map(str, self.posted)) == sorted(str(each) for _, each in expected if each != MISSING)

    async def do_trigger_one(self, publisher: str, who: str, data: Any, by_id: bool) -> None:
        found = self.env.interface.subscriptions.find(publisher, who)
        target = found.id if by_id and found is not None else who
        answer = await self.env.call(
            publisher, "Interface.triggerOne", target=target, event="changed", data=data
        )
        expected = dict(self.expected(publisher, data)).get(who, MISSING)
        assert (answer["status"] if expected == MISSING else answer) == expected

    async def do_list(self, publisher: str, wanted: dict[str, Any], offset: int, limit: int) -> None:
        answer = await self.env.call(
            publisher, "Interface.listSubscribers", parameters=wanted, offset=offset, limit=limit
        )
        found = [
            {"solution_id": who, "parameters": each.effective, "quota": each.quota}
            for who, each in self.model.of(publisher)
            if all(name in each.effective and each.effective[name] == value for name, value in wanted.items())
        ]
        assert answer["total"] == len(found)
        shown = [
            {name: each[name] for name in ("solution_id", "parameters", "quota")} for each in answer["items"]
        ]
        assert shown == found[offset : offset + limit]

    async def do_remove(self, who: str, publisher: str) -> None:
        self.model.remove(who, publisher)
        found = self.env.interface.subscriptions.find(publisher, who)
        if found is not None:
            await self.env.interface.unsubscribe(found)

    async def do_advance(self, seconds: float) -> None:
        self.model.now = await self.env.clock.advance(seconds)

    async def do_reload(self, id: str) -> None:
        await self.env.solutions.replace(self.env.solutions.get(id).settings, keep=True)

    async def do_reset(self, _: str) -> None:
        await self.env.reset()
        heard = self.model.heard
        self.model = Model()
        self.model.heard = heard


@settings(max_examples=40, deadline=None)
@given(st.tuples(limits, limits, limits), st.lists(step, min_size=20, max_size=40))
def test_a_story_goes_as_the_model_says(
    quotas: tuple[dict[str, int], ...], steps: list[tuple[Any, ...]]
) -> None:
    first: list[tuple[Any, ...]] = [
        ("subscribe", who, publisher, publisher, {}, quota)
        for (who, publisher), quota in zip(FIRST, quotas, strict=True)
    ]

    async def play() -> None:
        async with environment(
            *(solution(id, definition(id)) for id in PUBLISHERS),
            *(solution(id, business=business) for id, business in SUBSCRIBERS.items()),
        ) as env:
            await Story(env).play([*first, *steps])

    asyncio.run(play())
