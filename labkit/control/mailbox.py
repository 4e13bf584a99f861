"""Operations on the mailbox, which keeps all mail that solutions send."""

from __future__ import annotations

from labkit.control.bounds import Id, Line
from labkit.platform import Platform
from labkit.providers.mail import Mail as Mail


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
