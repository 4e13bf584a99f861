"""End-to-end accounts: what counting devices sent, what the platform acknowledged and has stored, and what a
solution's handler got.

A counting device writes one number after the other to the alias `count`: `stamp(epoch, number)`, its epoch (one more
each time that it starts) and a number that counts from 1 in it. From what arrives, and in which order, follows for
each device and epoch what was lost, doubled or overtaken. Both ends count here; whoever runs the fleet brings what the
handler got, and what the platform stores.

An acknowledged number is stored, but need not be so for long: an alias has one datapoint a second, which the next
number of that second replaces, and the newest `datapoints.kept` of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.core.errors import LabError
from labkit.core.extras import needs

if TYPE_CHECKING:
    from pandas import DataFrame

ALIAS = "count"
NUMBERS = 10**9  # in each epoch; so that a stamp is a whole number which scripts hold exactly (below 2^53)
EPOCHS = 2**53 // NUMBERS
COLUMNS = (
    *("sent", "acknowledged", "stored", "replaced", "forgotten"),
    *("handled", "lost", "unanswered", "arrived"),
    *("doubled", "reordered", "unknown"),
)

Key = tuple[str, int]  # identity, epoch
Sent = tuple[int, tuple[int, ...]]  # how many were sent, and which of them no answer is known of


def stamp(epoch: int, number: int) -> int:
    """What a counting device writes. Raises LabError beyond 10^9 numbers or nine million epochs."""
    if not (0 < number < NUMBERS and 0 < epoch < EPOCHS):
        raise LabError(f"a device counts to {NUMBERS - 1} in {EPOCHS - 1} epochs, not to {number} in {epoch}")
    return epoch * NUMBERS + number


def read(value: object) -> tuple[int, int] | None:
    """The epoch and the number of a stamp, as a handler got or returned it; None for what is no stamp."""
    text = f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        return None
    epoch, number = divmod(int(text), NUMBERS)
    return (epoch, number) if 0 < epoch < EPOCHS and number else None


@dataclass(slots=True)
class Sender:
    """What a device sent in an epoch: the numbers from 1 to `sent`; `unanswered`: those without a known answer."""

    sent: int = 0
    unanswered: set[int] = field(default_factory=set)
    broken: bool = False  # its process died: it may have sent more than it has told

    def is_acknowledged(self, number: int) -> bool:
        return number <= self.sent and number not in self.unanswered


@dataclass(slots=True)
class Handled:
    """What a handler got of an epoch, in the order of arrival; `gaps`: the ranges below `highest` that it did not."""

    highest: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)  # first and last, ascending
    doubled: int = 0
    reordered: int = 0

    def add(self, number: int) -> None:
        if number > self.highest:
            if number > self.highest + 1:
                self.gaps.append((self.highest + 1, number - 1))
            self.highest = number
            return
        at = bisect_right(self.gaps, (number, NUMBERS)) - 1
        if at < 0 or number > self.gaps[at][1]:
            self.doubled += 1
            return
        first, last = self.gaps[at]
        rest = [(first, number - 1)] if first < number else []
        rest += [(number + 1, last)] if number < last else []
        self.gaps[at : at + 1] = rest
        self.reordered += 1

    def missing(self, number: int) -> bool:
        """Did this one not arrive?"""
        at = bisect_right(self.gaps, (number, NUMBERS)) - 1
        return number > self.highest or (at >= 0 and number <= self.gaps[at][1])

    def absent(self, sent: int) -> int:
        """How many of the numbers from 1 to `sent` did not arrive."""
        below = sum(max(min(last, sent) - first + 1, 0) for first, last in self.gaps)
        return below + max(sent - self.highest, 0)


class Accounts:
    """The accounts of a run."""

    def __init__(self) -> None:
        self._senders: dict[Key, Sender] = {}
        self._handled: dict[Key, Handled] = {}
        self._changed: set[Key] = set()
        self._newest: dict[str, tuple[int, str]] = {}  # timestamp and value last stored, by identity
        self._replaced: dict[Key, set[int]] = {}  # the numbers that another value of the same second replaced
        self._stock: dict[Key, tuple[int, int, int]] = {}  # stored, replaced and forgotten, when last looked

    # --- of the devices

    def sent(self, identity: str, epoch: int) -> int:
        """The next number of a device, which it is about to send."""
        key = identity, epoch
        sender = self._senders.get(key)
        if sender is None:
            sender = self._senders[key] = Sender()
        number = sender.sent = sender.sent + 1
        sender.unanswered.add(number)
        self._changed.add(key)
        return number

    def unsent(self, identity: str, epoch: int, number: int) -> None:
        """The last number of a device, which it did not send after all."""
        key = identity, epoch
        self._senders[key].unanswered.discard(number)
        self._senders[key].sent = number - 1
        self._changed.add(key)

    def acknowledged(self, identity: str, epoch: int, number: int) -> None:
        """The platform answered that it has stored this one."""
        key = identity, epoch
        self._senders[key].unanswered.discard(number)
        self._changed.add(key)

    def broken(self, identity: str, epoch: int) -> None:
        """The process of the device died: what it sent and did not tell is found by what arrived of it."""
        self._senders.setdefault((identity, epoch), Sender()).broken = True

    def epochs(self) -> dict[str, int]:
        """The last epoch of each device that is known of, from either end."""
        found: dict[str, int] = {}
        for identity, epoch in (*self._senders, *self._handled):
            found[identity] = max(found.get(identity, 0), epoch)
        return found

    def take(self) -> dict[Key, Sent]:
        """What the devices have counted, of those for which it changed since the last time; it travels to `put`."""
        taken = {
            key: (self._senders[key].sent, tuple(sorted(self._senders[key].unanswered)))
            for key in self._changed
        }
        self._changed.clear()
        return taken

    def put(self, taken: Mapping[Key, Sent]) -> None:
        """Put in what was taken in another process."""
        for key, (sent, unanswered) in taken.items():
            sender = self._senders.setdefault(key, Sender())
            sender.sent, sender.unanswered = sent, set(unanswered)

    # --- of the platform

    def written(self, identity: str, timestamp: int, value: str) -> None:
        """The platform has stored a value of a device (Unix seconds). It replaces the value of the same second."""
        before = self._newest.get(identity)
        self._newest[identity] = timestamp, value
        if before is None or before[0] != timestamp or before[1] == value:
            return
        if (found := read(before[1])) is not None:
            epoch, number = found
            self._replaced.setdefault((identity, epoch), set()).add(number)

    def senders(self) -> dict[str, list[int]]:
        """The epochs of each device that has sent."""
        found: dict[str, list[int]] = {}
        for identity, epoch in self._senders:
            found.setdefault(identity, []).append(epoch)
        return found

    def take_stock(self, identity: str, epochs: Iterable[int], values: Iterable[str]) -> None:
        """Count which acknowledged numbers of a device are among its datapoints, and why the others are not.

        values: of all datapoints that the platform has of the device now.
        """
        present: dict[int, set[int]] = {}
        for value in values:
            if (found := read(value)) is not None:
                present.setdefault(found[0], set()).add(found[1])
        for epoch in epochs:
            sender, here = self._senders[identity, epoch], present.get(epoch, set())
            stored = sum(1 for number in here if sender.is_acknowledged(number))
            gone = self._replaced.get((identity, epoch), set()) - here
            replaced = sum(1 for number in gone if sender.is_acknowledged(number))
            forgotten = sender.sent - len(sender.unanswered) - stored - replaced
            self._stock[identity, epoch] = stored, replaced, forgotten

    # --- of the handler

    def handled(self, identity: str, value: object) -> None:
        """A handler got this value of a device. What is no stamp is none of ours."""
        if (found := read(value)) is not None:
            epoch, number = found
            self._handled.setdefault((identity, epoch), Handled()).add(number)

    # --- the judgement

    def losses(self) -> DataFrame:
        """A row for each device and epoch.

        sent; acknowledged: answered as stored, which is the sum of stored: still a datapoint when stock was last taken,
        replaced: by a later value of the same second, and forgotten: deleted since, beyond `datapoints.kept`;
        handled: of those sent, each once; lost: acknowledged, but never handled; unanswered: of which no answer says
        so, and arrived: those of them that were handled all the same; doubled: handled once more than before;
        reordered: handled after a later one; unknown: handled, but never sent.
        """
        with needs("tables"):
            import pandas as pd

        keys = sorted(self._senders)
        rows = [self._judge(key) for key in keys]
        index = pd.MultiIndex.from_tuples(keys, names=["identity", "epoch"]) if keys else None
        if index is None:
            index = pd.MultiIndex.from_arrays([[], []], names=["identity", "epoch"])
        return pd.DataFrame(rows, columns=list(COLUMNS), index=index)

    def totals(self) -> dict[str, int]:
        """The sums of the columns of `losses`."""
        rows = [self._judge(key) for key in self._senders]
        return {name: sum(row[at] for row in rows) for at, name in enumerate(COLUMNS)}

    @property
    def summary(self) -> str:
        """The accounts in one line."""
        total = self.totals()
        text = f"{total['sent']:,} sent, {total['acknowledged']:,} acknowledged, "
        text += f"{total['stored']:,} stored, " if self._stock else ""
        text += (
            f"{total['handled']:,} handled: "
            f"{total['lost']:,} lost, {total['doubled']:,} doubled, {total['reordered']:,} reordered"
        )
        if total["replaced"]:
            text += f"; {total['replaced']:,} replaced by a later number of the same second"
        if total["forgotten"]:
            text += f"; {total['forgotten']:,} forgotten beyond datapoints.kept"
        if total["unanswered"]:
            text += f"; of {total['unanswered']:,} without an answer {total['arrived']:,} arrived"
        if total["unknown"]:
            text += f"; {total['unknown']:,} handled that were never sent"
        return text

    def _judge(self, key: Key) -> list[int]:
        sender, handled = self._senders[key], self._handled.get(key, Handled())
        sent, unanswered = sender.sent, len(sender.unanswered)
        if sender.broken and handled.highest > sent:  # it did not live to tell of these
            unanswered += handled.highest - sent
            sent = handled.highest
        absent = handled.absent(sent)
        without = [number for number in sender.unanswered if handled.missing(number)]
        untold = max(sent - sender.sent, 0) - (absent - handled.absent(sender.sent))
        arrived = len(sender.unanswered) - len(without) + untold
        lost = absent - (unanswered - arrived)
        unknown = (
            handled.highest - sent - (handled.absent(handled.highest) - absent)
            if handled.highest > sent
            else 0
        )
        return [
            *(sent, sent - unanswered, *self._stock.get(key, (0, 0, 0))),
            *(sent - absent, lost, unanswered, arrived),
            *(handled.doubled, handled.reordered, unknown),
        ]


def of_route(answer: object) -> Iterable[tuple[str, Any]]:
    """What a solution's route says that its handler got: {identity: [value, …]} in the order of arrival.

    Raises LabError for another answer.
    """
    if not isinstance(answer, Mapping):
        raise LabError(
            f"accounts: expected a route that answers {{identity: [value, …]}}, not {answer!r:.200}"
        )
    for identity, values in answer.items():
        if not isinstance(values, list):
            raise LabError(f"accounts: expected a list of the values of {identity!r}, not {values!r:.200}")
        for value in values:
            yield str(identity), value
