"""Email: mail from a solution, delivered to the lab's mailbox (document 2, How to use, item 7)."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from sqlalchemy import Table

from labkit.context import Context
from labkit.services.addresses import LONGEST_ADDRESS, Address, Addresses
from labkit.services.mistakes import MistakeError
from labkit.services.operation import Caller, Service, operation
from labkit.storage.database import execute
from labkit.storage.schema import metadata, numbers, texts

LONGEST_SUBJECT = 998  # characters: the longest line of RFC 5322, section 2.1.1
LONGEST_BODY = 2**20  # characters
PORT = re.compile(r":[0-9]{1,5}(?=>?$)")
LONGEST_PORT = len(":65535")
DAY = 86_400  # seconds
UNLIMITED = 10**9  # mails a day

mails_table = Table("mails_sent", metadata, *texts("solution", key=True), *numbers("day", "count"))  # of UTC
# Counts a mail unless the quota is used up, in one statement, so that concurrent calls cannot exceed it.
COUNT = """
INSERT INTO mails_sent VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE
SET count = CASE WHEN day = ?2 THEN count ELSE 0 END + 1, day = ?2 WHERE day <> ?2 OR count < ?3
"""


def _one_line(text: str) -> str:
    if "\r" in text or "\n" in text:
        raise ValueError("expected one line")
    return text


def _bare(address: str) -> str:
    """Return `ann@example.com` for `Ann <ann@example.com>`."""
    return address.rpartition("<")[2].rstrip(">")


def _without_port(sender: object) -> object:
    """Return a sender without a port: Config.solution().domain has one in a lab on a port other than 443."""
    short = isinstance(sender, str) and len(sender) <= LONGEST_ADDRESS + LONGEST_PORT
    return PORT.sub("", sender) if isinstance(sender, str) and short else sender


Sender = Annotated[Address, BeforeValidator(_without_port)]
Body = Annotated[SecretStr, Field(max_length=LONGEST_BODY)]
Subject = Annotated[str, Field(max_length=LONGEST_SUBJECT), AfterValidator(_one_line)]


def utc_day(now: float) -> int:
    """Return the number of the day of UTC. now: lab time in seconds."""
    return int(now // DAY)


class Email(Service):
    """Service that sends mail, by default from `noreply@` at the solution's domain.

    Not offered: a mail server of the solution's own (`connection`, or `connection_server` and so on, ignored).
    """

    name: ClassVar[str] = "Email"
    without_effect: ClassVar[tuple[str, ...]] = (
        "connection",
        *(
            f"connection_{key}"
            for key in ("server", "user", "password", "port", "scheme", "require_starttls")
        ),
    )

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
        """Send a mail to the lab's mailbox. to, cc and bcc: an address or a list of them.

        Returns {accepted, rejected, envelope, response, messageId}: accepted lists all addresses, without names.
        from: an address; a port after it is removed, so that it may be at Config.solution().domain. The journal
        hides the body, which may carry activation and reset codes; the mailbox shows it. 403 for more mails in a day of
        UTC than the setting `limits.daily_mails` allows.
        """
        quota, day = self._quota(), utc_day(self._context.clock.now())
        if not await self._context.database.write(COUNT, (caller.solution, day, quota)):
            raise MistakeError(403, f"Daily quota reached: {quota} mails were sent, by limits.daily_mails.")
        sender = from_ or self._sender(caller)
        self._context.mailbox.receive(
            solution=caller.solution,
            sender=sender,
            to=to,
            cc=cc,
            bcc=bcc,
            subject=subject,
            text=text.get_secret_value() if text else "",
            html=html.get_secret_value() if html else "",
        )
        accepted = [_bare(each) for each in (*to, *cc, *bcc)]
        domain = self._context.solutions.get(caller.solution).domain
        return {
            "accepted": accepted,
            "rejected": [],
            "envelope": {"from": _bare(sender), "to": accepted},
            "response": "250 OK",
            "messageId": f"<{self._context.identifiers.hex(f'{caller.solution}/email', 32)}@{domain}>",
        }

    @operation
    async def getSettings(self, caller: Caller) -> dict[str, object]:
        """Return {from, custom, quota, usage}: sender of mails without `from`; false, as no server of its own is used.

        quota.daily: the setting `limits.daily_mails`, else 1,000,000,000; usage.daily: mails sent since midnight (UTC).
        """
        configured = self._context.configuration.get(caller.solution, {}).get(self.name, {}).get("from")
        of_day = (caller.solution, utc_day(self._context.clock.now()))
        sent = await self._context.database.read(
            lambda connection: execute(
                connection, "SELECT count FROM mails_sent WHERE solution = ? AND day = ?", of_day
            ).fetchone()
        )
        return {
            "from": _without_port(configured) or self._sender(caller),
            "custom": False,
            "quota": {"daily": self._quota()},
            "usage": {"daily": sent[0] if sent else 0},
        }

    async def forget(self, solution: str) -> None:
        await self._context.database.write("DELETE FROM mails_sent WHERE solution = ?", (solution,))

    def _quota(self) -> int:
        return self._context.settings.limits.daily_mails or UNLIMITED

    def _sender(self, caller: Caller) -> str:
        return f"noreply@{self._context.solutions.get(caller.solution).domain}"
