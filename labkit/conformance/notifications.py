"""Client of the Notify service for checks, through the probe: operations, refusals, new bindings, received messages."""

from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from labkit.conformance import expect
from labkit.conformance.probe import PROBE, Service, Table
from labkit.conformance.set_up import set_up
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch

if TYPE_CHECKING:
    from labkit.control.handsets import MessageInfo

PUSH = ("apn", "fcm", "gcm")
CHANNELS = (*PUSH, "sms", "chat-messenger")
FOUR_WEEKS = 2_419_200  # seconds
DAY = 86_400  # seconds
SID = re.compile(r"[A-Za-z0-9]{34}")
RFC2822 = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4}"
    r" [0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}"
)


class Notify(Service):
    """The Notify service as a solution calls it. Each check makes its own bindings, with fresh identities and
    addresses.
    """

    failing = frozenset({"error"})

    def __init__(self, target: Target, solution: str = PROBE) -> None:
        super().__init__(target, "Notify", solution)
        self.configured = target.configured(solution, "Notify")

    # ---- operations

    async def nothing(self, operation: str, **parameters: object) -> None:
        """Raise Mismatch unless an operation returns nil."""
        kind, result = await self.call("Notify", operation, parameters)
        if kind != "nil":
            raise self.mismatch(operation, "nil", f"{kind} {result}")

    async def fails(self, operation: str, **parameters: object) -> Table:
        """Return the error object that an operation returns. Raises Mismatch if it returns none."""
        result = await self.table(operation, **parameters)
        if not {"type", "error", "status"} <= result.keys():
            raise self.mismatch(operation, "an error object", result)
        return result

    async def refused_upstream(self, operation: str, status: int, /, **parameters: object) -> Table:
        """Return the provider's error, the JSON text in an operation's error. Raises Mismatch unless the error has
        this status.
        """
        text = await self.refused(operation, status, **parameters)
        try:
            found = json.loads(text)
        except ValueError:
            raise self.mismatch(operation, "an error that is JSON text", text) from None
        if not isinstance(found, dict):
            raise self.mismatch(operation, "an error that is an object in JSON text", text)
        return found

    async def send(self, **parameters: object) -> Table:
        """Send a notification and return its record."""
        return await self.done("send", **parameters)

    # ---- bindings

    def new(self, kind: str = "apn", **more: object) -> Table:
        """Return arguments of createBinding with an unused identity, endpoint and address."""
        identity = self._target.identity()
        given = {
            "Identity": identity,
            "Endpoint": f"endpoint of {identity}",
            "BindingType": kind,
            "Address": self.number(identity) if kind == "sms" else f"address-of-{identity}",
        }
        return {**given, **more}

    def number(self, identity: str) -> str:
        """Return the phone number of an identity, which no other identity has, of 15 digits."""
        return number_of(identity)

    async def bound(self, kind: str = "apn", **more: object) -> Table:
        """Create a binding and return it. Raises SetUpError if the target creates none."""
        with set_up(f"a binding of {kind}"):
            return await self.done("createBinding", **self.new(kind, **more))

    async def bound_all(self, **more: object) -> dict[str, Table]:
        """Create a binding for each channel, all of one new identity, and return them by channel."""
        identity = self._target.identity()
        return {kind: await self.bound(kind, Identity=identity, **more) for kind in CHANNELS}

    async def sids(self, **filters: object) -> list[str]:
        """Return the sids of the listed bindings, in their order."""
        found = await self.done("listBinding", **filters)
        listed = found.get("bindings")
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise self.mismatch("listBinding", "a list of bindings", found)
        return [str(each.get("sid")) for each in listed]

    async def lists(self, what: str, wanted: list[Table], **filters: object) -> None:
        """Raise Mismatch unless a list has exactly these bindings, in any order."""
        expect.equal(
            what, sorted(await self.sids(**filters)), sorted(each["sid"] for each in wanted), self.last
        )

    # ---- what arrived (a target with handsets only)

    async def messages(self, address: object) -> list[MessageInfo]:
        """Return the messages that reached a device token, a phone number or a messenger id, oldest first."""
        await self._target.settle()
        lab = self._target.lab

        def found() -> list[MessageInfo]:
            handset = lab.handsets.get(str(address))
            return [] if handset is None else list(handset.messages)

        return await self._target.in_lab(found)

    async def message(self, binding: Table) -> MessageInfo:
        """Return the only message that reached a binding's address. Raises Mismatch."""
        found = await self.messages(binding["address"])
        if len(found) != 1:
            raise Mismatch(f"what {binding['address']} got", "one message", f"{len(found)} messages")
        return found[0]

    async def payloads(self, **parameters: object) -> dict[str, Table]:
        """Return the payload that one send produces on each channel, without the address; each channel has a new
        binding.
        """
        bindings = await self.bound_all()
        await self.send(Identity=bindings["apn"]["identity"], **parameters)
        found = {}
        for kind, binding in bindings.items():
            message = await self.message(binding)
            found[kind] = {name: value for name, value in message.payload.items() if name != "to"}
        return found

    async def reaches(
        self, what: str, wanted: list[Table], others: list[Table], **parameters: object
    ) -> None:
        """Raise Mismatch unless a send with a body reaches these bindings, once each, and none of the others."""
        await self._reaches(what, wanted, others, {"Body": "a body", **parameters})

    async def reaches_without_body(self, what: str, wanted: list[Table], **parameters: object) -> None:
        """Raise Mismatch unless a send without Body reaches these bindings, once each."""
        await self._reaches(what, wanted, [], parameters)

    async def _reaches(self, what: str, wanted: list[Table], others: list[Table], parameters: Table) -> None:
        before = {each["sid"]: len(await self.messages(each["address"])) for each in [*wanted, *others]}
        await self.send(**parameters)
        for each in [*wanted, *others]:
            count = len(await self.messages(each["address"])) - before[each["sid"]]
            expect.equal(f"messages to {each['address']}, {what}", count, int(each in wanted), self.last)

    async def reaches_nobody(self, what: str, others: list[Table], **parameters: object) -> Table:
        """Return the error object of a send. Raises Mismatch unless it is an error and reaches none of these
        bindings.
        """
        before = [len(await self.messages(each["address"])) for each in others]
        error = await self.fails("send", **parameters)
        after = [len(await self.messages(each["address"])) for each in others]
        expect.equal(f"messages, {what}", after, before, self.last)
        return error

    def is_date(self, what: str, text: object) -> None:
        """Raise Mismatch unless a text is a date in the form of RFC 2822."""
        fits = isinstance(text, str) and RFC2822.fullmatch(text) is not None
        expect.true(f"{what} has the form of RFC 2822", fits, text, self.last)
        parsedate_to_datetime(str(text))

    def is_sid(self, what: str, text: object) -> None:
        """Raise Mismatch unless a text has 34 letters and digits."""
        fits = isinstance(text, str) and SID.fullmatch(text) is not None
        expect.true(f"{what} has 34 letters and digits", fits, text, self.last)


def number_of(identity: str) -> str:
    """Return a phone number of 15 digits that belongs to this fresh identity only."""
    _, run, count = identity.split("-")
    return f"+1{int(run, 16) % 10**9:09d}{int(count) % 10**5:05d}"
