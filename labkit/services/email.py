"""Email: mail from a solution, delivered to the lab's mailbox (document 2, How to use, item 7)."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from labkit.context import Context
from labkit.services.addresses import LONGEST_ADDRESS, Address, Addresses
from labkit.services.operation import Caller, Service, operation

LONGEST_SUBJECT = 998  # characters: the longest line of RFC 5322, section 2.1.1
LONGEST_BODY = 2**20  # characters
PORT = re.compile(r":[0-9]{1,5}(?=>?$)")
LONGEST_PORT = len(":65535")


def _one_line(text: str) -> str:
    if "\r" in text or "\n" in text:
        raise ValueError("expected one line")
    return text


def _without_port(sender: object) -> object:
    """Return a sender without a port: Config.solution().domain has one in a lab on a port other than 443."""
    short = isinstance(sender, str) and len(sender) <= LONGEST_ADDRESS + LONGEST_PORT
    return PORT.sub("", sender) if isinstance(sender, str) and short else sender


Sender = Annotated[Address, BeforeValidator(_without_port)]
Body = Annotated[SecretStr, Field(max_length=LONGEST_BODY)]
Subject = Annotated[str, Field(max_length=LONGEST_SUBJECT), AfterValidator(_one_line)]


class Email(Service):
    """Service that sends mail, by default from `noreply@` at the solution's domain.

    Not offered: a mail server of the solution's own (`connection`, ignored).
    """

    name: ClassVar[str] = "Email"
    without_effect: ClassVar[tuple[str, ...]] = ("connection",)

    def __init__(self, context: Context) -> None:
        self._context = context

    @operation
    async def send(
        self,
        caller: Caller,
        to: Annotated[Addresses, Field(min_length=1)],
        subject: Subject,
        text: Body | None = None,
        html: Body | None = None,
        cc: Addresses = (),
        bcc: Addresses = (),
        from_: Sender | None = None,
    ) -> dict[str, object]:
        """Send a mail to the lab's mailbox. to, cc and bcc: an address or a list of them. Returns an empty table.

        from: an address; a port after it is removed, so that it may be at Config.solution().domain. The journal
        hides the body, which may carry activation and reset codes; the mailbox shows it.
        """
        self._context.mailbox.receive(
            solution=caller.solution,
            sender=from_ or self._sender(caller),
            to=to,
            cc=cc,
            bcc=bcc,
            subject=subject,
            text=text.get_secret_value() if text else "",
            html=html.get_secret_value() if html else "",
        )
        return {}

    @operation
    async def getSettings(self, caller: Caller) -> dict[str, object]:
        """Return {from, custom}: the sender of mails without `from`, and false: there is no server of its own."""
        configured = self._context.configuration.get(caller.solution, {}).get(self.name, {}).get("from")
        return {"from": _without_port(configured) or self._sender(caller), "custom": False}

    def _sender(self, caller: Caller) -> str:
        return f"noreply@{self._context.solutions.get(caller.solution).domain}"
