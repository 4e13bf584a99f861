"""Operations on simulated handsets: devices, phones and messenger accounts that receive notifications."""

from __future__ import annotations

from typing import Annotated, Any

from labkit.control.bounds import Id, Line
from labkit.control.data import Data, copied
from labkit.control.json_values import JsonValue
from labkit.platform import Platform
from labkit.providers.messaging import handsets
from labkit.providers.messaging.bindings import is_bound
from labkit.providers.messaging.payloads import shown
from labkit.providers.messaging.provider import Messaging


class MessageInfo(Data):
    """A message that was sent to one handset over one channel, and the state of its delivery.

    time: lab time in seconds at which it was sent; title, text: the parts that a person sees; payload, headers:
    exactly as sent over the channel; state: delivered, waiting (the handset is offline), expired, dropped (too many
    messages wait), unregistered or rejected (by the push service); ended: lab time of the final state, None while the
    message waits; expires: lab time from which it is no longer delivered; account, service, identity, binding,
    notification: sids of the sender's account and service, and of the notification's parts; cause: sequence number of
    the request's record in the journal.
    """

    time: float
    address: str
    channel: str
    title: str
    text: str
    payload: dict[str, Annotated[Any, JsonValue]]
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
    """A device, phone or messenger account. kept, dropped: number of its messages in memory, and of deleted ones."""

    address: str
    online: bool
    kept: int
    dropped: int


class HandsetsControl:
    """Operations on the handsets of a lab. A handset exists from the first message or `switch` of its address."""

    def __init__(self, platform: Platform) -> None:
        self._handsets = platform.provider(Messaging).handsets
        self._database = platform.context.database

    async def all(self) -> list[HandsetInfo]:
        """Return all handsets, in the order in which they were created."""
        return [_info(each) for each in self._handsets]

    async def get(self, address: Line) -> HandsetInfo:
        """Return the handset of an address that got a message, or that a binding names.

        Raises UnknownError, listing the existing handsets, for any other address.
        """
        return _info(await self._of(address))

    async def messages(self, address: Line | None = None, state: Id | None = None) -> list[MessageInfo]:
        """Return the messages sent, oldest first; with `address` or `state` only the matching ones.

        Raises UnknownError for an unknown address, like `get`.
        """
        of = self._handsets.messages if address is None else (await self._of(address)).messages
        return [_message(each) for each in of if state in (None, each.state)]

    async def received(self, address: Line) -> list[MessageInfo]:
        """Return the messages delivered to a handset, in order of delivery. Raises LabError like `get`."""
        return [_message(each) for each in (await self._of(address)).received]

    async def switch(self, address: Line, online: bool) -> HandsetInfo:
        """Turn a handset on or off, creating it if needed. Turned on, it receives the messages that wait for it."""
        return _info(self._handsets.switch(address, online=online))

    async def dropped(self) -> int:
        """Return the number of messages deleted for lack of room."""
        return self._handsets.dropped

    async def clear(self) -> None:
        """Delete all handsets and their messages."""
        await self._handsets.clear()

    async def _of(self, address: Line) -> handsets.SimulatedHandset:
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
