"""The handle of a lab's mailbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from labkit.control.messaging import Mail
from labkit.core.errors import LabError, NoEntryError
from labkit.core.handle import Handle
from labkit.core.words import counted
from labkit.lab.runtime import Runtime
from labkit.lab.show import table

if TYPE_CHECKING:
    from labkit.control.messaging import OpenedLink


class LabMailbox(Handle):
    """All mail that the lab's solutions have sent, oldest first."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.mailbox

    def find(
        self, to: str | None = None, subject: str | None = None, solution: str | None = None
    ) -> list[Mail]:
        """Return the mails that match all given conditions, oldest first.

        to: an address in to, cc or bcc, in any letter case; subject: a part of the subject; solution: id of the
        sender.
        """
        return self._runtime.run(self._control.find, to, subject, solution)

    def follow(
        self, to: str | None = None, subject: str | None = None, solution: str | None = None, *, link: int = 0
    ) -> OpenedLink:
        """Open a link of the newest mail that matches, in a new browser, and return the page.

        to, subject, solution: as of `find`; link: its place in the mail, from 0.
        """
        return self._runtime.run(self._control.follow, to, subject, solution, link)

    def clear(self) -> None:
        """Delete all mail."""
        self._runtime.run(self._control.clear)

    def __len__(self) -> int:
        return len(self.find())

    def __iter__(self) -> Iterator[Mail]:
        return iter(self.find())

    def __getitem__(self, index: int) -> Mail:
        if not isinstance(index, int):
            raise LabError(f"mailbox: expected a number such as -1, not {index!r}")
        mails = self.find()
        try:
            return mails[index]
        except IndexError:
            there = (
                f"it has {len(mails)}"
                if mails
                else "it is empty: lab.settle() waits for scripts that send mail"
            )
            raise NoEntryError(f"no mail {index} in the mailbox, {there}") from None

    def __repr__(self) -> str:
        mails = self.find()
        lines = [f"{mail.sender} → {', '.join(mail.recipients)}: {mail.subject}" for mail in mails]
        return "\n".join([f"Mailbox with {counted(len(mails), 'mail')}", *lines])

    def _repr_html_(self) -> str:
        rows = [
            (each.sender, ", ".join(each.recipients), each.subject, each.text or each.html) for each in self
        ]
        return table(("from", "to", "subject", "text"), rows, "no mails")
