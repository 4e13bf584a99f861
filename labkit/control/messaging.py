"""Operations on the messaging provider: accounts, received requests and pending faults."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import Field

from labkit.control.bounds import Id, Line
from labkit.control.data import Data
from labkit.control.providers import InboxEntry
from labkit.platform import Platform
from labkit.providers.mail import Mail as Mail
from labkit.providers.messaging.accounts import ProviderAccount
from labkit.providers.messaging.provider import Messaging


class MailboxControl:
    """Operations on the mail of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._mailbox = platform.mailbox

    async def find(
        self, to: Line | None = None, subject: Line | None = None, solution: Id | None = None
    ) -> list[Mail]:
        """Return the mails that match all given conditions, oldest first.

        to: an address among to, cc or bcc, in any letter case; subject: a part of the subject; solution: id of the
        sender.
        """
        return self._mailbox.find(to, subject, solution)

    async def clear(self) -> None:
        """Delete all mail."""
        await self._mailbox.clear()


class MessagingInfo(Data):
    """The provider's address. outside: base URL of an external server that the Notify service uses instead, if any."""

    domain: str
    url: str
    outside: str | None


class MessagingServiceInfo(Data):
    """A notify service of an account.

    messaging_service: sid of the default sender of its SMS; credentials: sid of the credential of each push channel.
    """

    sid: str
    messaging_service: str | None
    credentials: dict[str, str | None]


class MessagingAccountInfo(Data):
    """An account of the messaging provider. sid and token: user name and password of its REST API."""

    sid: str
    token: str = Field(repr=False)
    services: list[MessagingServiceInfo]


class MessagingControl:
    """Operations on the messaging provider of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._messaging = platform.provider(Messaging)
        self._outside = platform.context.settings.providers.messaging.outside

    async def info(self) -> MessagingInfo:
        """Return the address of the messaging provider."""
        return MessagingInfo(domain=self._messaging.host, url=self._messaging.url(), outside=self._outside)

    async def accounts(self) -> list[MessagingAccountInfo]:
        """Return all accounts with their secrets, the built-in one first."""
        return [_info(each) for each in self._messaging.accounts]

    async def fault(self, fault: Id, step: Id | None = None) -> None:
        """Let a fault hit the next request or delivery. Raises UnknownError for an unknown fault or step."""
        self._messaging.faults.add(fault, step)

    async def faults(self) -> list[str]:
        """Return the pending faults, which have not hit a request yet: `slow at request`."""
        return self._messaging.faults.waiting

    async def inbox(self) -> list[InboxEntry]:
        """Return the requests that the provider received, oldest first."""
        return [InboxEntry(**asdict(each)) for each in self._messaging.inbox]

    async def clear_inbox(self) -> None:
        """Delete the requests that the provider received."""
        self._messaging.inbox.clear()


def _info(account: ProviderAccount) -> MessagingAccountInfo:
    return MessagingAccountInfo(
        sid=account.sid,
        token=account.token,
        services=[
            MessagingServiceInfo(
                sid=each.sid,
                messaging_service=each.messaging_service,
                credentials=dict(each.credentials),
            )
            for each in account.services.values()
        ],
    )
