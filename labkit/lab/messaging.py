"""The handle of the messaging provider."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.control.messaging import MessagingAccountInfo
from labkit.lab.client import rooted
from labkit.lab.provider import Arrivals
from labkit.lab.runtime import Runtime
from labkit.lab.show import card


class Account(dict[str, str]):
    """AccountSid, AuthToken and ServiceSid: the configuration of Notify for a solution. It shows no token."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {'…' if name == 'AuthToken' else repr(self[name])}" for name in self)
        return f"{{{shown}}}"

    def copy(self) -> Account:
        return Account(self)

    def __or__(self, other: Mapping[str, str]) -> Account:  # type: ignore[override]  # a dict's own forgets its kind
        return Account({**self, **other})


class LabMessaging:
    """The provider of push, SMS and chat: a real server, which the Notify service and any SDK can talk to."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.messaging
        self._info = runtime.run(self._control.info)
        self.inbox = Arrivals(runtime, self._control.inbox, self._control.clear_inbox)

    @property
    def domain(self) -> str:
        """The provider's own host name."""
        return self._info.domain

    @property
    def outside(self) -> str | None:
        """The base URL of the server that the Notify service uses instead, if one is set."""
        return self._info.outside

    @property
    def account(self) -> Account:
        """The account that is always there: `lab.solution("home", services={"Notify": lab.messaging.account})`."""
        return self.accounts[0]

    @property
    def accounts(self) -> list[Account]:
        """All accounts, each with the first of its services."""
        return [_account(each) for each in self._runtime.run(self._control.accounts)]

    @property
    def faults(self) -> list[str]:
        """The faults that have not hit yet."""
        return self._runtime.run(self._control.faults)

    def fault(self, name: str, step: str | None = None) -> None:
        """Let a fault hit one request, or one delivery: the next of its step.

        credential rejected, rate limited, slow, down, malformed JSON, server error: at the step request (unless you
        say otherwise), bindings or notifications. token unregistered, delivered twice: at the step delivery, where a
        credential can be rejected, too.
        """
        self._runtime.run(self._control.fault, name, step)

    def url(self, path: str = "") -> str:
        """The URL of a path at the provider."""
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
                "arrived": f"{len(self.inbox)} requests",
                **({"outside": self.outside} if self.outside else {}),
            },
        )


def _account(info: MessagingAccountInfo) -> Account:
    services = {"ServiceSid": info.services[0].sid} if info.services else {}
    return Account(AccountSid=info.sid, AuthToken=info.token, **services)
