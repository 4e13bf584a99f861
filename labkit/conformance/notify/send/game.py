"""Playing the model of notifications: the same identities, endpoints, tags and addresses in three services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.conformance.models.calls import Calls, Refused
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.models.rules import Rules
from labkit.conformance.notifications import DAY, PUSH, SID, number_of
from labkit.conformance.notify.send.model import Bindings, Bound, Message, Phone, day
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.target import Target

SOLUTIONS = (PROBE, WITNESS)
ADDRESSES = 3
OWN_TAGS = (
    "red",
    "Red",
    "blue",
)  # which each game spells in its own way, so that they are those of few bindings
SHOWN = ("identity", "endpoint", "binding_type", "address")


class Notifications:
    """One game. Service 2 is another one of the first solution's account, from which no SMS goes out."""

    default = "NTF-SEND-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        self._calls = Calls(target, rules, self.default, SOLUTIONS)
        self._prefix = f"{target.identity()}-"
        self._handsets = "handsets" in target.offers
        self.clock = GameClock(target)
        self._numbers = [number_of(target.identity()) for _ in range(ADDRESSES)]
        self._numbers.append(f"{self._numbers[0]}x")  # which is none
        self.phones = {each: Phone() for each in self._numbers}
        self.services = [Bindings(self.phones) for _ in range(3)]
        self._sids = [
            target.configured(PROBE, "Notify")["ServiceSid"],
            target.configured(WITNESS, "Notify")["ServiceSid"],
            target.messaging_service(0, 1).sid,
        ]
        self._sent = 0
        self._away: set[int] = set()  # the handsets that were off at times

    async def begin(self) -> None:
        await self.clock.begin()
        for index in (0, 1):
            await self.create(index, "ann", 0, "apn", 0, ("red",))
            await self.create(index, "ann", 1, "sms", 1, ("red", "blue"))
            await self.create(index, "Ann", 2, "fcm", 2, ("Red",))
        await self.create(2, "ann", 0, "gcm", 0, ("red",))

    async def end(self) -> None:
        """What there is, and what each handset got, in the order in which it was sent."""
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
                    own = [each for each in wanted if any(each.binding is one for one in service.ever)]
                    seen = [each[:2] for each in found if each[2] == sid]
                    rule = self._rule(seen, own, phone)
                    said = [(each.text, each.binding.sid) for each in own]
                    self._rules.holds(rule, f"what {address} {what} by {sid}", seen, said)

    async def close(self) -> None:
        """Bindings are left: they are under names that nobody uses again."""

    async def play(self, command: Any) -> None:
        await command(self)

    async def pause(self) -> None:
        """Leave nothing under way: the platform is to be restarted."""
        await self._settle()

    # ---- what commands do

    async def create(
        self, index: int, identity: str, endpoint: int, kind: str, address: int, tags: Sequence[str]
    ) -> None:
        """createBinding. address: which number; -1: one that is none."""
        if index == 2 and kind == "sms":
            return
        where = self._numbers[address]
        service = self.services[index]
        given = (self._own(identity), f"{self._prefix}{endpoint}", kind, where)
        names = ("Identity", "Endpoint", "BindingType", "Address")
        own = self._tags(tags)
        made: list[Bound] = []

        def create() -> dict[str, Any]:
            made.append(service.create(*given, own))
            return dict(zip(SHOWN, given, strict=True))

        def see(found: Any) -> Any:
            return (
                self._binding(found, made[0], service, index) if made and isinstance(found, dict) else found
            )

        body = {**dict(zip(names, given, strict=True)), "Tag": own}
        self._same(index, "NTF-BIND-6", "createBinding", body, create, see)

    async def fill(self, index: int, identity: str, count: int) -> None:
        """Bindings with endpoints of their own, up to the most that an identity may have, and beyond."""
        for number in range(100, 100 + count):
            await self.create(index, identity, number, "apn", 0, ("red",))
        await self.create(
            index, identity, 100, "fcm", 1, ()
        )  # in the place of one of them, so that there are no more

    async def get(self, index: int, of: int, number: int) -> None:
        """getBinding, of what this service or another has or had."""
        await self._of(index, of, number, "getBinding", "NTF-BIND-1")

    async def delete(self, index: int, of: int, number: int) -> None:
        """deleteBinding."""
        await self._of(index, of, number, "deleteBinding", "NTF-BIND-18")

    async def listed(
        self,
        index: int,
        identities: Sequence[str],
        tags: Sequence[str],
        days: tuple[int | None, int | None],
        page: tuple[int | None, int],
    ) -> None:
        """listBinding: those of this game. days: from today; page: size and number."""
        service, (size, number) = self.services[index], page
        today = int(self.clock.now) // DAY
        bounds = (None if days[0] is None else today + days[0], None if days[1] is None else today + days[1])
        names, labels = [self._own(each) for each in identities], self._tags(tags)
        body: dict[str, Any] = {"Identity": names, "Tag": labels, "Page": number}
        body |= {} if size is None else {"PageSize": size}
        body |= {
            name: day(each)
            for name, each in zip(("StartDate", "EndDate"), bounds, strict=True)
            if each is not None
        }
        length = size or 50
        wanted: list[Bound] = []

        def listed() -> Any:
            found = service.listed(names, labels, bounds)
            wanted.extend(found[number * length : (number + 1) * length])
            more = len(found) > (number + 1) * length
            return {"bindings": [each.number for each in wanted], "next": more, "previous": number > 0}

        def see(found: Any) -> Any:
            if not isinstance(found, dict) or not isinstance(found.get("bindings"), list):
                return found
            numbers = {each.sid: each.number for each in service.ever}
            meta = found.get("meta", {})
            return {
                "bindings": [numbers.get(each.get("sid"), each) for each in found["bindings"]],
                "next": meta.get("next_page_url") is not None,
                "previous": meta.get("previous_page_url") is not None,
            }

        rule = (
            "NTF-LIST-6" if any(each is not None for each in days) else "NTF-LIST-8" if size else "NTF-LIST-3"
        )
        self._same(
            index, "NTF-LIST-2" if names and rule == "NTF-LIST-3" else rule, "listBinding", body, listed, see
        )

    async def send(self, index: int, identities: Sequence[str], tags: Sequence[str], ttl: int | None) -> None:
        """send, to those of this game."""
        self._sent += 1
        text = f"{self._prefix}{self._sent}"
        names = [self._own(each) for each in identities]
        labels = self._tags(tags)[1:] if names else self._tags(tags)
        body: dict[str, Any] = {"Identity": names, "Tag": labels, "Body": text}
        body |= {} if ttl is None else {"Ttl": ttl}

        def see(found: Any) -> Any:
            return found.get("ttl") if isinstance(found, dict) else found

        service = self.services[index]
        rule = "NTF-TTL-1"
        self._same(index, rule, "send", body, lambda: str(service.send(names, labels, text, ttl)), see)

    async def refused(self, index: int, wrong: tuple[str, Mapping[str, Any]]) -> None:
        """A send that must be an error, and reach nobody."""
        rule, more = wrong
        body = {"Tag": [self._prefix], "Body": "nobody gets this", **more}

        def refuse() -> None:
            raise Refused(rule, 400)

        self._same(index, rule, "send", body, refuse)

    async def switch(self, address: int, online: bool) -> None:
        """A handset is turned off or on."""
        if not self._handsets or not self.clock.exact:
            return
        await self._settle()
        number = self._numbers[address]
        self.phones[number].expire(self.clock.now)
        if await self._target.in_lab(self._switch, number, online):
            self.phones[number].switch(online)
            self._away.add(id(self.phones[number]))

    async def away(self, index: int, address: int, ttl: int, ticks: int) -> None:
        """A handset is off while something is sent, for so long."""
        await self.switch(address, False)
        await self.send(index, (), ("all",), ttl)
        await self.advance(ticks)
        await self.switch(address, True)

    async def advance(self, ticks: int) -> None:
        """Let time pass, after all that waits."""
        await self._settle()
        await self.clock.advance(ticks)
        if self.clock.exact:
            for phone in self.phones.values():
                phone.expire(self.clock.now)

    # ---- comparing

    async def _settle(self) -> None:
        await self._calls.send()
        if self._handsets:
            await self._target.settle()

    async def _of(self, index: int, of: int, number: int, operation: str, rule: str) -> None:
        ever = self.services[of].ever
        if not ever:
            return
        bound, service = ever[number % len(ever)], self.services[index]
        if bound.sid is None:
            await self._calls.send()

        def change() -> Any:
            if of != index:
                raise Refused("NTF-CALL-7", 404, choice="NTF-BIND-17")
            if operation == "deleteBinding":
                return service.delete(bound)
            found = service.get(bound)
            return dict(zip(SHOWN, (found.identity, found.endpoint, found.type, found.address), strict=True))

        def see(found: Any) -> Any:
            return {name: found.get(name) for name in SHOWN} if isinstance(found, dict) else found

        self._same(index, rule, operation, {"BindingSid": bound.sid or ""}, change, see)

    def _binding(self, found: dict[str, Any], made: Bound, service: Bindings, index: int) -> dict[str, Any]:
        """Compare what stands in a new binding besides; what of it the model knows."""
        holds = self._rules.holds
        sid = str(found.get("sid"))
        known = {each.sid for one in self.services for each in one.ever}
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
        return {name: found.get(name) for name in SHOWN}

    def _same(
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

    def _own(self, identity: str) -> str:
        """An identity of this game; digits: of so many characters."""
        if identity.isdigit():
            return self._prefix + "x" * (int(identity) - len(self._prefix))
        return self._prefix + identity if identity else ""

    def _tags(self, tags: Sequence[str]) -> list[str]:
        """The tag of this game, and those that are named."""
        return [self._prefix, *(self._prefix + each if each in OWN_TAGS else each for each in tags)]

    def _rule(self, seen: Sequence[tuple[str, str]], own: Sequence[Message], phone: Phone) -> str:
        """Whose rule it is what a handset got: how long a message waits is that of its channel."""
        if id(phone) not in self._away or not own:
            return "NTF-SEND-3"
        other = {each[0] for each in seen} ^ {each.text for each in own}
        late = [each for each in own if each.text in other] or own
        return "NTF-TTL-3" if late[-1].binding.type in PUSH else "NTF-TTL-4"

    def _switch(self, address: str, online: bool) -> bool:
        """Is there such a handset?"""
        handset = self._target.lab.handsets.get(address)
        if handset is not None:
            handset.online() if online else handset.offline()
        return handset is not None

    def _messages(self, address: str) -> list[list[tuple[str, str, str]]]:
        """What a handset got, and what waits for it."""
        handset = self._target.lab.handsets.get(address)
        both = [[], []] if handset is None else [handset.messages, handset.waiting]
        return [[(each.text, each.binding, each.service) for each in one] for one in both]
