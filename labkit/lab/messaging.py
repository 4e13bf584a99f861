"""The handle of the messaging provider."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.control.messaging import MessagingAccountInfo
from labkit.core.handle import Handle
from labkit.core.words import counted
from labkit.lab.client import rooted
from labkit.lab.provider import ProviderInbox
from labkit.lab.runtime import Runtime
from labkit.lab.show import card


class Account(dict[str, str]):
    """Configuration of a solution's Notify service: AccountSid, AuthToken and ServiceSid. Its repr hides the token."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {'…' if name == 'AuthToken' else repr(self[name])}" for name in self)
        return f"{{{shown}}}"

    def copy(self) -> Account:
        return Account(self)

    def __or__(self, other: Mapping[str, str]) -> Account:  # type: ignore[override]  # a dict's own forgets its kind
        return Account({**self, **other})


class LabMessaging(Handle):
    """The provider of push, SMS and chat: a real server for the Notify service and any SDK."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.messaging
        self._info = runtime.messaging
        self.inbox = ProviderInbox(runtime, self._control.inbox, self._control.clear_inbox)

    @property
    def domain(self) -> str:
        """Host name of the provider."""
        return self._info.domain

    @property
    def outside(self) -> str | None:
        """Base URL of an external server that the Notify service uses instead, None without one."""
        return self._info.outside

    @property
    def account(self) -> Account:
        """The default account: `lab.solution("home", services={"Notify": lab.messaging.account})`."""
        return self.accounts[0]

    @property
    def accounts(self) -> list[Account]:
        """All accounts, each with its first service."""
        return [_account(each) for each in self._runtime.run(self._control.accounts)]

    @property
    def faults(self) -> list[str]:
        """The pending faults: those that have not hit a request or delivery yet."""
        return self._runtime.run(self._control.faults)

    def fault(self, name: str, step: str | None = None) -> None:
        """Make the next request or delivery of a step fail.

        name: credential rejected, rate limited, slow, down, malformed JSON or server error, with the step request
        (the default), bindings or notifications; or token unregistered, delivered twice or credential rejected, with
        the step delivery.
        """
        self._runtime.run(self._control.fault, name, step)

    def url(self, path: str = "") -> str:
        """Return the URL of a path at the provider."""
        return self._info.url + (rooted(path) if path else "")

    def __repr__(self) -> str:
        return f"<messaging at {self.domain}>"

    def _repr_html_(self) -> str:
        accounts = self._runtime.run(self._control.accounts)
        return card(
            "messaging",
            {
                "domain": self.domain,
                "accounts": ", ".join(each.sid for each in accounts),
                "services": ", ".join(service.sid for each in accounts for service in each.services),
                "arrived": counted(len(self.inbox), "request"),
                **({"outside": self.outside} if self.outside else {}),
            },
        )


def _account(info: MessagingAccountInfo) -> Account:
    services = {"ServiceSid": info.services[0].sid} if info.services else {}
    return Account(AccountSid=info.sid, AuthToken=info.token, **services)
