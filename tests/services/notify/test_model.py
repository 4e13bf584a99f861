"""Notify over the real provider against a model of bindings and tags: random sequences of two tenants.

The model is written from document 3 and the choices of its requirements (NTF-BIND, NTF-LIST, NTF-SEND, NTF-TTL)
alone. Both tenants use the same identities, endpoints, tags and addresses, so that whatever crosses over shows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.platform import Platform
from labkit.providers.messaging.provider import Messaging
from labkit.settings import LabSettings, build
from tests.sizes import size

TENANTS = ("acme", "other")
PUSH = ("apn", "fcm", "gcm")
TYPES = (*PUSH, "sms", "chat-messenger")
IDENTITIES = ("ann", "Ann", "é漢😀", "a b&c=d%20+", "ann ")
TAGS = ("red", "Red", "ä:b", "x" * 100, "all", *TYPES[:3], "100%", "_")
ADDRESSES = ("+15005550001", "+15005550002", "+15005550003")
FOUR_WEEKS, MOST, DAY = 2_419_200, 20, 86_400

TENANT = st.sampled_from(TENANTS)
SOME_TAGS = st.lists(st.sampled_from(TAGS), max_size=4)
STEP = {
    "create": st.tuples(
        st.just("create"),
        TENANT,
        st.sampled_from(IDENTITIES),
        st.integers(0, 12),
        st.sampled_from(TYPES),
        st.sampled_from(ADDRESSES),
        SOME_TAGS,
    ),
    "fill": st.tuples(st.just("fill"), TENANT, st.sampled_from(IDENTITIES), st.integers(17, 22)),
    "delete": st.tuples(st.just("delete"), TENANT, TENANT, st.integers(0, 30)),
    "get": st.tuples(st.just("get"), TENANT, TENANT, st.integers(0, 30)),
    "list": st.tuples(
        st.just("listed"),
        TENANT,
        st.lists(st.sampled_from(IDENTITIES), max_size=3),
        SOME_TAGS,
        st.tuples(*[st.sampled_from([None, -1, 0, 1])] * 2),
        st.tuples(st.sampled_from([1, 2, 7, None]), st.integers(0, 2)),
    ),
    "send": st.tuples(
        st.just("send"),
        TENANT,
        st.lists(st.sampled_from(IDENTITIES), max_size=2),
        SOME_TAGS,
        st.sampled_from([None, 0, 1, 90, FOUR_WEEKS]),
    ),
    "switch": st.tuples(st.just("switch"), st.sampled_from(ADDRESSES), st.booleans()),
    "away": st.tuples(
        st.just("away"),
        TENANT,
        st.sampled_from(ADDRESSES),
        st.sampled_from([0.25, 0.75]),
        st.sampled_from([0, 1, 2]),
        st.sampled_from([0.25, 0.5, 1.0, 1.75, 2.0]),
    ),
    "advance": st.tuples(st.just("advance"), st.sampled_from([0.25, 0.75, 1.0, 89.5, DAY / 2])),
}
OFTEN = (
    ["create"] * 6
    + ["send"] * 4
    + ["list"] * 4
    + ["advance"] * 2
    + ["switch"] * 2
    + ["away"] * 2
    + ["delete", "get", "fill"]
)
STEPS = st.lists(st.sampled_from(OFTEN).flatmap(STEP.__getitem__), min_size=20, max_size=50)


@dataclass
class Bound:
    """A binding of the model."""

    sid: str
    identity: str
    endpoint: str
    type: str
    address: str
    tags: tuple[str, ...]
    created: float

    def fits(self, identities: list[str], tags: list[str]) -> bool:
        own = {*self.tags, "all", self.type}
        return (not identities or self.identity in identities) and own.issuperset(tags)


@dataclass
class Got:
    """A message to a handset of the model."""

    text: str
    sid: str
    expires: float
    state: str


@dataclass
class Phone:
    """A handset of the model."""

    online: bool = True
    messages: list[Got] = field(default_factory=list)


@dataclass
class Model:
    """What two tenants have, oldest first, and what three handsets got."""

    bindings: dict[str, list[Bound]] = field(default_factory=lambda: {name: [] for name in TENANTS})
    sids: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TENANTS})
    phones: dict[str, Phone] = field(default_factory=lambda: {name: Phone() for name in ADDRESSES})

    def may_create(self, tenant: str, identity: str, endpoint: str) -> bool:
        own = [each for each in self.bindings[tenant] if each.endpoint != endpoint]
        return sum(each.identity == identity for each in own) < MOST

    def create(self, tenant: str, made: Bound) -> None:
        own = [each for each in self.bindings[tenant] if each.endpoint != made.endpoint]
        self.bindings[tenant] = [*own, made]
        self.sids[tenant].append(made.sid)

    def find(self, tenant: str, sid: str) -> Bound | None:
        return next((each for each in self.bindings[tenant] if each.sid == sid), None)

    def send(self, targets: list[Bound], text: str, ttl: int, now: float) -> None:
        for each in targets:
            phone = self.phones[each.address]
            expires = now + (ttl if each.type in PUSH else FOUR_WEEKS)
            state = "delivered" if phone.online else "expired" if expires <= now else "waiting"
            phone.messages.append(Got(text, each.sid, expires, state))

    def expire(self, now: float) -> None:
        for phone in self.phones.values():
            for each in phone.messages:
                if each.state == "waiting" and each.expires <= now:
                    each.state = "expired"

    def switch(self, address: str, online: bool) -> None:
        phone = self.phones[address]
        phone.online = online
        for each in phone.messages:
            if online and each.state == "waiting":
                each.state = "delivered"


class Play:
    """The platform beside its model."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.clock = platform.context.clock
        self.model = Model()
        self.sent = 0

    async def call(self, tenant: str, operation: str, **parameters: object) -> Any:
        return await self.platform.call(tenant, "Notify", operation, parameters)

    async def step(self, name: str, *args: Any) -> None:
        await getattr(self, name)(*args)
        await self.platform.settle()
        await self.compare()

    async def create(
        self, tenant: str, identity: str, number: int, kind: str, address: str, tags: list[str]
    ) -> None:
        endpoint = f"endpoint {number}"
        allowed = self.model.may_create(tenant, identity, endpoint)
        made = await self.call(
            tenant,
            "createBinding",
            Identity=identity,
            Endpoint=endpoint,
            BindingType=kind,
            Address=address,
            Tag=tags,
        )
        if not allowed:
            assert made["status"] == 400, made
            return
        own = tuple(dict.fromkeys(each for each in tags if each not in ("all", *TYPES)))
        assert made["tags"] == [*own]
        bound = Bound(made["sid"], identity, endpoint, kind, address, own, self.clock.seconds())
        self.model.create(tenant, bound)

    async def fill(self, tenant: str, identity: str, count: int) -> None:
        """Bindings with endpoints of their own, up to the most that an identity may have, and beyond."""
        for number in range(100, 100 + count):
            await self.create(tenant, identity, number, "apn", ADDRESSES[0], ["red"])

    async def get(self, tenant: str, of: str, number: int) -> None:
        """A binding that there is or was, of this tenant or the other."""
        if not (sids := self.model.sids[of]):
            return
        sid = sids[number % len(sids)]
        known = self.model.find(tenant, sid)
        found = await self.call(tenant, "getBinding", BindingSid=sid)
        if known is None:
            assert found["status"] == 404, found
            return
        seen = [found[each] for each in ("sid", "identity", "endpoint", "binding_type", "address", "tags")]
        assert seen == [sid, known.identity, known.endpoint, known.type, known.address, [*known.tags]]

    async def delete(self, tenant: str, of: str, number: int) -> None:
        if not (sids := self.model.sids[of]):
            return
        sid = sids[number % len(sids)]
        known = self.model.find(tenant, sid)
        result = await self.call(tenant, "deleteBinding", BindingSid=sid)
        if known is None:
            assert result["status"] == 404, result
        else:
            assert result is None
            self.model.bindings[tenant].remove(known)

    async def listed(
        self,
        tenant: str,
        identities: list[str],
        tags: list[str],
        days: tuple[int | None, int | None],
        page: tuple[int | None, int],
    ) -> None:
        today = int(self.clock.seconds() // DAY)
        start, end = (None if each is None else today + each for each in days)
        wanted = [
            each
            for each in reversed(self.model.bindings[tenant])
            if each.fits(identities, tags)
            and (start is None or each.created // DAY >= start)
            and (end is None or each.created // DAY <= end)
        ]
        size, number = page
        filters = {"Identity": identities, "Tag": tags, "Page": number, "PageSize": size}
        bounds = {"StartDate": day(start), "EndDate": day(end)}
        found = await self.call(tenant, "listBinding", **filters, **bounds)
        first = number * (size or 50)
        last = first + (size or 50)
        assert [each["sid"] for each in found["bindings"]] == [each.sid for each in wanted[first:last]]
        assert (found["meta"]["next_page_url"] is None) is (len(wanted) <= last)
        assert (found["meta"]["previous_page_url"] is None) is (number == 0)

    async def send(self, tenant: str, identities: list[str], tags: list[str], ttl: int | None) -> None:
        self.sent += 1
        text = f"message {self.sent}"
        sent = await self.call(tenant, "send", Identity=identities, Tag=tags, Body=text, Ttl=ttl)
        if not identities and not tags:
            assert sent["status"] == 400, sent
            return
        life = FOUR_WEEKS if ttl is None else ttl
        assert sent["ttl"] == str(life)
        targets = [each for each in self.model.bindings[tenant] if each.fits(identities, tags)]
        self.model.send(targets, text, life, self.clock.now())

    async def switch(self, address: str, online: bool) -> None:
        self.platform.provider(Messaging).handsets.switch(address, online=online)
        self.model.switch(address, online)

    async def away(self, tenant: str, address: str, start: float, ttl: int, seconds: float) -> None:
        """A handset is off while something is sent, for so many seconds."""
        await self.step("advance", start)
        await self.step("switch", address, False)
        await self.step("send", tenant, [], ["all"], ttl)
        await self.step("advance", seconds)
        await self.step("switch", address, True)

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        self.model.expire(self.clock.now())

    async def compare(self) -> None:
        """What each handset got, and in which order it was sent."""
        handsets = self.platform.provider(Messaging).handsets
        for address, phone in self.model.phones.items():
            messages = handsets.get(address).messages if address in handsets else []
            seen = [(each.payload, each.binding, each.state) for each in messages]
            assert [(text_of(body), sid, state) for body, sid, state in seen] == [
                (each.text, each.sid, each.state) for each in phone.messages
            ]


def text_of(payload: Any) -> object:
    """The text of a payload, wherever its channel has it."""
    alert = payload.get("aps", {}).get("alert", {})
    return payload.get("body") or payload.get("data", {}).get("twi_body") or alert.get("body")


def day(number: int | None) -> str | None:
    """A day by its number as YYYY-MM-DD."""
    return None if number is None else datetime.fromtimestamp(number * DAY, UTC).strftime("%Y-%m-%d")


def two_tenants() -> LabSettings:
    accounts = [
        {
            "sid": f"AC{number:032}",
            "token": f"token-{number}",
            "services": [{"sid": f"IS{number:032}", "messaging_service": f"MG{number:032}"}],
        }
        for number, _ in enumerate(TENANTS)
    ]
    solutions = [
        {
            "id": name,
            "services": {
                "Notify": {
                    "AccountSid": f"AC{number:032}",
                    "AuthToken": f"token-{number}",
                    "ServiceSid": f"IS{number:032}",
                }
            },
        }
        for number, name in enumerate(TENANTS)
    ]
    values = {"https_port": 0, "providers": {"messaging": {"accounts": accounts}}, "solutions": solutions}
    return build(LabSettings, values, "")


async def played(steps: list[tuple[Any, ...]]) -> None:
    async with Platform(two_tenants(), seed=7) as platform:
        play = Play(platform)
        for name, *args in steps:
            await play.step(name, *args)


@settings(max_examples=size(15, 300), deadline=None)
@given(STEPS)
def test_bindings_lists_and_sends_are_those_of_the_model(steps: list[tuple[Any, ...]]) -> None:
    asyncio.run(played(steps))
