"""What device tokens, phone numbers and messenger ids got from the messaging provider."""

from __future__ import annotations

from typing import Any

from labkit.control.data import Data, copied
from labkit.platform import Platform
from labkit.providers.messaging import handsets
from labkit.providers.messaging.bindings import is_bound
from labkit.providers.messaging.payloads import shown
from labkit.providers.messaging.provider import Messaging


class MessageInfo(Data):
    """What was sent to one handset over one channel, and what became of it.

    time: lab time in seconds when it was sent; title, text: what people see of it; payload, headers: exactly as the
    channel has them; state: delivered, waiting (the handset is offline), expired, dropped (too much waits),
    unregistered or rejected (by the push service); ended: lab time at which it came to that, None while it waits;
    expires: lab time from which on it is not delivered any more; account, service, identity, binding,
    notification: whose it is, by sid; cause: sequence of the journal's record of the request.
    """

    time: float
    address: str
    channel: str
    title: str
    text: str
    payload: dict[str, Any]
    headers: dict[str, str]
    state: str
    ended: float | None
    expires: float
    account: str
    service: str
    identity: str
    binding: str
    notification: str
    cause: int | None


class HandsetInfo(Data):
    """A device, phone or messenger account. kept: messages of it that are kept; dropped: that are not any more."""

    address: str
    online: bool
    kept: int
    dropped: int


class HandsetsControl:
    """The handsets of a lab. Each is there from the first message that is sent to it, or once it is turned off."""

    def __init__(self, platform: Platform) -> None:
        self._handsets = platform.provider(Messaging).handsets
        self._database = platform.context.database

    async def all(self) -> list[HandsetInfo]:
        """All of them, in the order in which they came."""
        return [_info(each) for each in self._handsets]

    async def get(self, address: str) -> HandsetInfo:
        """The handset of an address to which something was sent, or may be: a binding names it.

        Raises LabError for another, naming those that are there.
        """
        return _info(await self._of(address))

    async def messages(self, address: str | None = None, state: str | None = None) -> list[MessageInfo]:
        """What was sent, oldest first: to one handset, and of one state, if asked. Raises LabError as `get`."""
        of = self._handsets.messages if address is None else (await self._of(address)).messages
        return [_message(each) for each in of if state in (None, each.state)]

    async def received(self, address: str) -> list[MessageInfo]:
        """What reached a handset, in the order in which it did. Raises LabError as `get`."""
        return [_message(each) for each in (await self._of(address)).received]

    async def switch(self, address: str, online: bool) -> HandsetInfo:
        """Turn a handset off, or on: it then gets what waits for it and has not expired. It need not be there yet."""
        return _info(self._handsets.switch(address, online=online))

    async def dropped(self) -> int:
        """How many messages were let go for lack of room."""
        return self._handsets.dropped

    async def clear(self) -> None:
        """Forget all handsets and what they got."""
        await self._handsets.clear()

    async def _of(self, address: str) -> handsets.SimulatedHandset:
        if address not in self._handsets and await self._database.read(is_bound, address):
            return handsets.SimulatedHandset(address)
        return self._handsets.get(address)


def _info(handset: handsets.SimulatedHandset) -> HandsetInfo:
    return HandsetInfo(
        address=handset.address,
        online=handset.online,
        kept=len(handset.messages),
        dropped=handset.dropped,
    )


def _message(message: handsets.HandsetMessage) -> MessageInfo:
    title, text = shown(message.channel, message.payload)
    return MessageInfo(
        time=message.time,
        address=message.address,
        channel=message.channel,
        title=title,
        text=text,
        payload=copied(message.payload),
        headers=dict(message.headers),
        state=message.state,
        ended=message.ended,
        expires=message.expires,
        account=message.account,
        service=message.service,
        identity=message.identity,
        binding=message.binding,
        notification=message.notification,
        cause=message.cause,
    )
