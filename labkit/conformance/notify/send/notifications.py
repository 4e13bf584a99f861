"""Model game of notifications: the same identities, endpoints, tags and addresses in three services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.conformance.models.calls import Refused
from labkit.conformance.models.commands import Commands, one_of, several, together
from labkit.conformance.models.game import LONG, ScriptGame
from labkit.conformance.models.rules import Rules
from labkit.conformance.notifications import CHANNELS, DAY, FOUR_WEEKS, PUSH, SID, number_of
from labkit.conformance.notify.send.model import Binding, Bindings, Message, Phone, day
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.target import Target

ADDRESSES = 3
OWN_TAGS = ("red", "Red", "blue")  # prefixed in each game, so that few bindings have them
COMPARED_FIELDS = ("identity", "endpoint", "binding_type", "address")

IDENTITIES = ("ann", "ann", "Ann", "é漢😀", "a b&c=d%20+", "ann ")
MORE_IDENTITIES = ("100", "101", "")
TAGS = ("red", "red", "Red", "blue", "ä:b", "x" * 100, "all", "apn", "sms", "100%", "_", "a,b", " red")
FILTERS = (
    (),
    (),
    ("red",),
    ("Red",),
    ("red", "blue"),
    ("all",),
    ("apn",),
    ("sms", "red"),
    ("fcm", "sms"),
    ("a,b",),
)
MORE_TAGS = ("x" * 101, "")
# besides the game's own tag
FULL, TOO_MANY = (tuple(f"t{number}" for number in range(count)) for count in (19, 20))
HALF_A_DAY = 12 * 3600 * 1024
WRONG: tuple[tuple[str, dict[str, Any]], ...] = (
    ("NTF-SEND-13", {"Data": {"twi_x": 1}}),
    ("NTF-SEND-13", {"Data": {"twin": 1}}),
    ("NTF-SEND-15", {"Data": {"a": [{"twi": 1}]}}),
    ("NTF-SEND-14", {"Fcm": {"data": {"twi_body": "x"}}}),
    ("NTF-SEND-14", {"Gcm": {"twi_x": 1}}),
    ("NTF-SEND-16", {"Priority": "High"}),
    ("NTF-SEND-16", {"Priority": "normal"}),
    ("NTF-TTL-5", {"Ttl": 1.5}),
    ("NTF-SEND-11", {"Data": [1]}),
)
DAYS = (None, None, -1, 0, 1)
ALL_DAYS = [(None, None)]
SERVICES = (0, 0, 0, 1, 1, 2)
NAMED = several(IDENTITIES, 2)
MANY = [("ann", *(f"nobody {each}" for each in range(count - 1))) for count in (19, 20, 21)]

command = Commands(
    index=SERVICES,
    of=SERVICES,
    identity=IDENTITIES,
    number=range(10),
    address=range(ADDRESSES),
    identities=NAMED,
    tags=(*FILTERS, *FILTERS, FULL, TOO_MANY),
)
creating = Commands(
    index=SERVICES,
    identity=IDENTITIES,
    endpoint=range(10),
    kind=CHANNELS,
    address=range(ADDRESSES),
    tags=several(TAGS, 3),
)


class Notifications(ScriptGame):
    """One game. Service 2 is a second service of the first solution's account, which cannot send SMS."""

    default = "NTF-SEND-1"

    average = LONG

    def __init__(self, target: Target, rules: Rules) -> None:
        super().__init__(target, rules)
        self._handsets = "handsets" in target.offers
        self._numbers = [number_of(target.identity()) for _ in range(ADDRESSES)]
        self._numbers.append(f"{self._numbers[0]}x")  # an invalid number
        self.phones = {each: Phone() for each in self._numbers}
        self.services = [Bindings(self.phones) for _ in range(3)]
        self._sids = [
            target.configured(PROBE, "Notify")["ServiceSid"],
            target.configured(WITNESS, "Notify")["ServiceSid"],
            target.messaging_service(0, 1).sid,
        ]
        self._sent = 0
        self._switched: set[int] = set()  # ids of the phones that were off at times

    async def begin(self) -> None:
        """Create some bindings in each service."""
        await self.clock.begin()
        for index in (0, 1):
            await self.create(index, "ann", 0, "apn", 0, ("red",))
            await self.create(index, "ann", 1, "sms", 1, ("red", "blue"))
            await self.create(index, "Ann", 2, "fcm", 2, ("Red",))
        await self.create(2, "ann", 0, "gcm", 0, ("red",))

    async def end(self) -> None:
        """List the bindings, and compare the messages of each handset in the order of sending."""
        for index in range(3):
            for tags in ((), ("apn",), ("red", "all"), ("Red",), ("sms",), ("blue",)):
                await self.listed(index, (), tags, (None, None), (None, 0))
        await self._settle()
        if not self._handsets or self._calls.diverged:
            return
        for address, phone in self.phones.items():
            phone.expire(self.clock.now)
            received, waiting = await self._target.in_lab(self._messages, address)
            for sid, service in zip(self._sids, self.services, strict=True):
                for what, found, wanted in (
                    ("got", received, phone.received),
                    ("is to get", waiting, phone.waiting),
                ):
                    own = [
                        each for each in wanted if any(each.binding is one for one in service.created_so_far)
                    ]
                    seen = [each[:2] for each in found if each[2] == sid]
                    rule = self._rule(seen, own, phone)
                    said = [(each.text, each.binding.sid) for each in own]
                    self._rules.holds(rule, f"what {address} {what} by {sid}", seen, said)

    async def pause(self) -> None:
        """Finish pending calls and deliveries before the platform restarts."""
        await self._settle()

    # ---- commands

    @creating(kind=("sms", "chat-messenger"), address=[-1], tags=[()])
    @creating(tags=(FULL, TOO_MANY, *((each,) for each in MORE_TAGS)))
    @creating(identity=(*IDENTITIES, *MORE_IDENTITIES), kind=(*CHANNELS, "APN"), address=range(-1, 3))
    @creating()
    async def create(
        self, index: int, identity: str, endpoint: int, kind: str, address: int, tags: Sequence[str]
    ) -> None:
        """Call createBinding. address: index of a phone number; -1: an invalid number."""
        if index == 2 and kind == "sms":
            return
        where = self._numbers[address]
        service = self.services[index]
        given = (self._identity(identity), f"{self._prefix}{endpoint}", kind, where)
        names = ("Identity", "Endpoint", "BindingType", "Address")
        own = self._tags(tags)
        made: list[Binding] = []

        def create() -> dict[str, Any]:
            made.append(service.create(*given, own))
            return dict(zip(COMPARED_FIELDS, given, strict=True))

        def see(found: Any) -> Any:
            return (
                self._check_binding(found, made[0], service, index)
                if made and isinstance(found, dict)
                else found
            )

        body = {**dict(zip(names, given, strict=True)), "Tag": own}
        self._compare(index, "NTF-BIND-6", "createBinding", body, create, see)

    @command(index=SERVICES[:-1], count=(1, 1, 2, 18))
    async def fill(self, index: int, identity: str, count: int) -> None:
        """Create `count` bindings with their own endpoints, up to and beyond an identity's limit."""
        for number in range(100, 100 + count):
            await self.create(index, identity, number, "apn", 0, ("red",))
        # replaces the first of them, so the count stays
        await self.create(index, identity, 100, "fcm", 1, ())

    @command()
    async def get(self, index: int, of: int, number: int) -> None:
        """Call getBinding for a binding that service `of` has or had."""
        await self._call_for(index, of, number, "getBinding", "NTF-BIND-1")

    @command()
    async def delete(self, index: int, of: int, number: int) -> None:
        """Call deleteBinding for a binding that service `of` has or had."""
        await self._call_for(index, of, number, "deleteBinding", "NTF-BIND-18")

    @command(days=ALL_DAYS, page=[(None, 0)])
    @command(days=ALL_DAYS, page=together((None, 1, 2), range(3)))
    @command(days=together(DAYS, DAYS), page=together((None, 1, 2, 7), range(3)))
    async def listed(
        self,
        index: int,
        identities: Sequence[str],
        tags: Sequence[str],
        days: tuple[int | None, int | None],
        page: tuple[int | None, int],
    ) -> None:
        """Call listBinding for this game's bindings. days: offsets from today; page: size and number."""
        service, (size, number) = self.services[index], page
        today = int(self.clock.now) // DAY
        bounds = (None if days[0] is None else today + days[0], None if days[1] is None else today + days[1])
        names, labels = [self._identity(each) for each in identities], self._tags(tags)
        body: dict[str, Any] = {"Identity": names, "Tag": labels, "Page": number}
        body |= {} if size is None else {"PageSize": size}
        body |= {
            name: day(each)
            for name, each in zip(("StartDate", "EndDate"), bounds, strict=True)
            if each is not None
        }
        length = size or 50
        wanted: list[Binding] = []

        def listed() -> Any:
            found = service.listed(names, labels, bounds)
            wanted.extend(found[number * length : (number + 1) * length])
            more = len(found) > (number + 1) * length
            return {"bindings": [each.number for each in wanted], "next": more, "previous": number > 0}

        def see(found: Any) -> Any:
            if not isinstance(found, dict) or not isinstance(found.get("bindings"), list):
                return found
            numbers = {each.sid: each.number for each in service.created_so_far}
            meta = found.get("meta", {})
            return {
                "bindings": [numbers.get(each.get("sid"), each) for each in found["bindings"]],
                "next": meta.get("next_page_url") is not None,
                "previous": meta.get("previous_page_url") is not None,
            }

        rule = (
            "NTF-LIST-6" if any(each is not None for each in days) else "NTF-LIST-8" if size else "NTF-LIST-3"
        )
        self._compare(
            index, "NTF-LIST-2" if names and rule == "NTF-LIST-3" else rule, "listBinding", body, listed, see
        )

    @command(identities=one_of(NAMED, MANY), ttl=(None, FOUR_WEEKS + 1, -1, 0))
    @command(tags=(FULL, TOO_MANY), ttl=[None])
    @command(ttl=(None, None, 0, 1, 90, FOUR_WEEKS))
    async def send(self, index: int, identities: Sequence[str], tags: Sequence[str], ttl: int | None) -> None:
        """Call send for bindings of this game."""
        self._sent += 1
        text = f"{self._prefix}{self._sent}"
        names = [self._identity(each) for each in identities]
        labels = self._tags(tags)[1:] if names else self._tags(tags)
        body: dict[str, Any] = {"Identity": names, "Tag": labels, "Body": text}
        body |= {} if ttl is None else {"Ttl": ttl}

        def see(found: Any) -> Any:
            return found.get("ttl") if isinstance(found, dict) else found

        service = self.services[index]
        rule = "NTF-TTL-1"
        self._compare(index, rule, "send", body, lambda: str(service.send(names, labels, text, ttl)), see)

    @command(wrong=WRONG)
    async def refused(self, index: int, wrong: tuple[str, Mapping[str, Any]]) -> None:
        """Call send with a wrong parameter: it must be an error and reach no binding."""
        rule, more = wrong
        body = {"Tag": [self._prefix], "Body": "nobody gets this", **more}

        def refuse() -> None:
            raise Refused(rule, 400)

        self._compare(index, rule, "send", body, refuse)

    @command(online=bool)
    async def switch(self, address: int, online: bool) -> None:
        """Turn a handset on or off; needs access to handsets and a virtual clock."""
        if not self._handsets or not self.clock.exact:
            return
        await self._settle()
        number = self._numbers[address]
        self.phones[number].expire(self.clock.now)
        if await self._target.in_lab(self._switch, number, online):
            self.phones[number].set_online(online)
            self._switched.add(id(self.phones[number]))

    @command(ttl=(0, 1, 2), ticks=(256, 512, 1024, 1792, 2048))
    async def away(self, index: int, address: int, ttl: int, ticks: int) -> None:
        """Send to all bindings while a handset is off, which then stays off for `ticks`."""
        await self.switch(address, False)
        await self.send(index, (), ("all",), ttl)
        await self.advance(ticks)
        await self.switch(address, True)

    @command(ticks=(256, 768, 1024, 89 * 1024 + 512, HALF_A_DAY))
    async def advance(self, ticks: int) -> None:
        """Advance the clock after all pending calls and deliveries."""
        await self._settle()
        await self._advance(ticks)
        if self.clock.exact:
            for phone in self.phones.values():
                phone.expire(self.clock.now)

    # ---- comparing

    async def _settle(self) -> None:
        await self._calls.send()
        if self._handsets:
            await self._target.settle()

    async def _call_for(self, index: int, of: int, number: int, operation: str, rule: str) -> None:
        created = self.services[of].created_so_far
        if not created:
            return
        bound, service = created[number % len(created)], self.services[index]
        if bound.sid is None:
            await self._calls.send()

        def change() -> Any:
            if of != index:
                raise Refused("NTF-CALL-7", 404, choice="NTF-BIND-17")
            if operation == "deleteBinding":
                return service.delete(bound)
            found = service.get(bound)
            return dict(
                zip(COMPARED_FIELDS, (found.identity, found.endpoint, found.type, found.address), strict=True)
            )

        def see(found: Any) -> Any:
            return {name: found.get(name) for name in COMPARED_FIELDS} if isinstance(found, dict) else found

        self._compare(index, rule, operation, {"BindingSid": bound.sid or ""}, change, see)

    def _check_binding(
        self, found: dict[str, Any], made: Binding, service: Bindings, index: int
    ) -> dict[str, Any]:
        """Check the sids, tags and version of a new binding, and return the fields that the model has."""
        holds = self._rules.holds
        sid = str(found.get("sid"))
        known = {each.sid for one in self.services for each in one.created_so_far}
        holds(
            "NTF-BIND-3", "a new sid of 34 letters and digits", SID.fullmatch(sid) and sid not in known, True
        )
        holds("NTF-BIND-3", "service_sid", found.get("service_sid"), self._sids[index])
        made.sid = sid
        holds("NTF-BIND-5", "tags", found.get("tags"), list(made.tags))
        version = "3" if made.type in PUSH else None
        holds(
            "NTF-BIND-12" if version else "NTF-BIND-13",
            "version",
            found.get("notification_protocol_version"),
            version,
        )
        return {name: found.get(name) for name in COMPARED_FIELDS}

    def _compare(
        self,
        index: int,
        rule: str,
        operation: str,
        body: dict[str, Any],
        change: Callable[[], object],
        see: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.services[index].now = self.clock.now
        body = body | ({"ServiceSid": self._sids[2]} if index == 2 else {})
        self._calls.compare(index % 2, f"Notify.{operation}", body, rule, change, see)

    def _identity(self, identity: str) -> str:
        """Return an identity of this game; of digits, one of that length."""
        if identity.isdigit():
            return self._prefix + "x" * (int(identity) - len(self._prefix))
        return self._prefix + identity if identity else ""

    def _tags(self, tags: Sequence[str]) -> list[str]:
        """Return the tag of this game and the given ones."""
        return [self._prefix, *(self._prefix + each if each in OWN_TAGS else each for each in tags)]

    def _rule(self, seen: Sequence[tuple[str, str]], own: Sequence[Message], phone: Phone) -> str:
        """Return the requirement for a handset's messages; waiting messages have one by channel."""
        if id(phone) not in self._switched or not own:
            return "NTF-SEND-3"
        other = {each[0] for each in seen} ^ {each.text for each in own}
        late = [each for each in own if each.text in other] or own
        return "NTF-TTL-3" if late[-1].binding.type in PUSH else "NTF-TTL-4"

    def _switch(self, address: str, online: bool) -> bool:
        """Switch a handset; return whether it exists."""
        handset = self._target.lab.handsets.get(address)
        if handset is not None:
            handset.online() if online else handset.offline()
        return handset is not None

    def _messages(self, address: str) -> list[list[tuple[str, str, str]]]:
        """Return the messages that a handset received, and the ones that wait for it."""
        handset = self._target.lab.handsets.get(address)
        both = [[], []] if handset is None else [handset.messages, handset.waiting]
        return [[(each.text, each.binding, each.service) for each in one] for one in both]
