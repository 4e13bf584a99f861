"""Operations on the messaging provider: accounts, received requests and pending faults."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from labkit.control.addresses import lab_address
from labkit.control.bounds import Id, Line, waits
from labkit.control.data import Data
from labkit.control.providers import InboxEntry
from labkit.core.errors import UnknownError
from labkit.platform import Platform
from labkit.providers.mail import Mail as Mail
from labkit.providers.messaging.accounts import ProviderAccount
from labkit.providers.messaging.provider import Messaging

LONGEST_TEXT = 2**20  # characters of a page


class OpenedLink(Data):
    """Page that a link led to, after the redirects within the lab. type: Content-Type; text: its first characters."""

    url: str
    status: int
    type: str
    text: str


class MailboxControl:
    """Operations on the mail of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._mailbox = platform.mailbox

    async def find(
        self, to: Line | None = None, subject: Line | None = None, solution: Id | None = None
    ) -> list[Mail]:
        """Return the mails that match all given conditions, oldest first.

        to: an address among to, cc or bcc, in any letter case; subject: a part of the subject; solution: id of the
        sender.
        """
        return self._mailbox.find(to, subject, solution)

    @waits
    async def follow(
        self,
        to: Line | None = None,
        subject: Line | None = None,
        solution: Id | None = None,
        link: Annotated[int, Field(ge=0, le=10_000)] = 0,
    ) -> OpenedLink:
        """Open a link of the newest mail that matches, in a new browser, as the person who clicks it.

        to, subject, solution: as of `find`; link: place of the link in the mail, from 0. Raises UnknownError if there
        is no such mail or link, LabError for a link that leads out of the lab.
        """
        from labkit.fleet.browser import AsyncBrowser, Connections

        if not (mails := self._mailbox.find(to, subject, solution)):
            raise UnknownError(
                f"no mail of {len(self._mailbox)} matches: lab.settle waits for scripts that send one"
            )
        if not 0 <= link < len(links := mails[-1].links):
            raise UnknownError(f"no link {link} in the mail {mails[-1].subject!r:.80}, it has {len(links)}")
        connections, serves = Connections(lab_address(self._platform)), self._platform.context.hosts.serves
        try:
            found = await AsyncBrowser(connections, serves).request("GET", links[link])
        finally:
            await connections.close()
        return OpenedLink(
            url=str(found.url),
            status=found.status_code,
            type=found.headers.get("Content-Type", ""),
            text=found.text[:LONGEST_TEXT],
        )

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
