"""The messaging provider: its accounts, what arrived at it, what fails."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import Field

from labkit.control.data import Data
from labkit.control.providers import Arrived
from labkit.platform import Platform
from labkit.providers.messaging.accounts import ProviderAccount
from labkit.providers.messaging.provider import Messaging


class MessagingInfo(Data):
    """Where the provider is. outside: the base URL that the Notify service uses instead, if one is set."""

    domain: str
    url: str
    outside: str | None


class MessagingServiceInfo(Data):
    """A notify service. credentials: sid of that of each push channel."""

    sid: str
    messaging_service: str | None
    credentials: dict[str, str | None]


class MessagingAccountInfo(Data):
    """An account. sid and token: login and password of the REST API."""

    sid: str
    token: str = Field(repr=False)
    services: list[MessagingServiceInfo]


class MessagingControl:
    """The messaging provider of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._messaging = platform.provider(Messaging)
        self._outside = platform.context.settings.providers.messaging.outside

    async def info(self) -> MessagingInfo:
        """Where it is."""
        return MessagingInfo(domain=self._messaging.host, url=self._messaging.url(), outside=self._outside)

    async def accounts(self) -> list[MessagingAccountInfo]:
        """All accounts with their secrets; first the one that is always there."""
        return [_info(each) for each in self._messaging.accounts]

    async def fault(self, fault: str, step: str | None = None) -> None:
        """Let a fault hit the next request or delivery. Raises LabError for one that there is not."""
        self._messaging.faults.add(fault, step)

    async def faults(self) -> list[str]:
        """The faults that have not hit yet: `slow at request`."""
        return self._messaging.faults.waiting

    async def inbox(self) -> list[Arrived]:
        """What arrived, oldest first."""
        return [Arrived(**asdict(each)) for each in self._messaging.inbox]

    async def clear_inbox(self) -> None:
        """Forget what arrived."""
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
