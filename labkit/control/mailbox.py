"""The mail that solutions sent."""

from __future__ import annotations

from labkit.platform import Platform
from labkit.providers.mail import Mail as Mail


class MailboxControl:
    """All mail of a lab."""

    def __init__(self, platform: Platform) -> None:
        self._mailbox = platform.mailbox

    async def find(
        self, to: str | None = None, subject: str | None = None, solution: str | None = None
    ) -> list[Mail]:
        """The mails, oldest first: to an address (to, cc or bcc; letter case does not count), whose subject holds
        a text, or of a solution; all that is given must hold.
        """
        return self._mailbox.find(to, subject, solution)

    async def clear(self) -> None:
        """Throw all mail away."""
        await self._mailbox.clear()
