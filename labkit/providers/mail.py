"""Mailbox with the mail that the lab's solutions sent, for notebooks to read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from labkit.core.component import Component

URL = re.compile(r"https?://[^\s<>\"'`\\^{|}]+")
HREF = re.compile(r"""<a\s[^<>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
CAPACITY = 10_000  # mails kept; the oldest are removed


@dataclass(frozen=True, slots=True)
class Mail:
    """Mail that a solution sent.

    time: lab time in seconds; solution: the id of the sender.
    """

    time: float
    solution: str
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    bcc: tuple[str, ...]
    subject: str
    text: str
    html: str

    @property
    def recipients(self) -> tuple[str, ...]:
        """All recipients: to, cc and bcc."""
        return (*self.to, *self.cc, *self.bcc)

    @property
    def links(self) -> list[str]:
        """The web addresses in the text, then the link targets in the HTML, without duplicates."""
        found = [_trimmed(match.group()) for match in URL.finditer(self.text)]
        targets = (unescape(next(filter(None, match.groups()), "")) for match in HREF.finditer(self.html))
        found += [target for target in targets if URL.match(target)]
        return list(dict.fromkeys(found))


class Mailbox(Component):
    """All mail of a lab, oldest first. now: returns lab time in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._mails: list[Mail] = []
        self._watchers: tuple[Callable[[Mail], object], ...] = ()

    state_type = list[Mail]

    def snapshot(self) -> list[Mail]:
        return list(self._mails)

    async def restore(self, state: list[Mail]) -> None:
        self._mails[:] = state[-CAPACITY:]

    def watch(self, watcher: Callable[[Mail], object]) -> Callable[[], None]:
        """Call `watcher` with every new mail. Returns a function that ends this."""
        self._watchers += (watcher,)

        def stop() -> None:
            self._watchers = tuple(each for each in self._watchers if each is not watcher)

        return stop

    def receive(
        self,
        *,
        solution: str,
        sender: str,
        to: Sequence[str],
        cc: Sequence[str] = (),
        bcc: Sequence[str] = (),
        subject: str,
        text: str = "",
        html: str = "",
    ) -> Mail:
        """Store a mail, call the watchers with it and return it."""
        mail = Mail(self._now(), solution, sender, tuple(to), tuple(cc), tuple(bcc), subject, text, html)
        self._mails.append(mail)
        del self._mails[:-CAPACITY]
        for watcher in self._watchers:
            watcher(mail)
        return mail

    def find(
        self, to: str | None = None, subject: str | None = None, solution: str | None = None
    ) -> list[Mail]:
        """Return the mails that match all given arguments.

        to: address in to, cc or bcc, in any letter case; subject: text that the subject contains; solution: id.
        """
        return [
            mail
            for mail in self._mails
            if (to is None or to.casefold() in map(_address, mail.recipients))
            and (subject is None or subject in mail.subject)
            and (solution is None or solution == mail.solution)
        ]

    async def clear(self) -> None:
        """Delete all mail."""
        self._mails.clear()

    def __len__(self) -> int:
        return len(self._mails)

    def __iter__(self) -> Iterator[Mail]:
        return iter(tuple(self._mails))

    def __getitem__(self, index: int) -> Mail:
        return self._mails[index]


def _address(recipient: str) -> str:
    """Return `ann@example.com` for `Ann <ann@example.com>`, in lower case."""
    return recipient.rpartition("<")[2].rstrip(">").casefold()


def _trimmed(url: str) -> str:
    """Return `url` without the punctuation of the sentence around it."""
    end, unmatched = len(url), url.count(")") - url.count("(")
    while url[end - 1] in ".,;:!?" or (url[end - 1] == ")" and unmatched > 0):
        end -= 1
        unmatched -= url[end] == ")"
    return url[:end]
