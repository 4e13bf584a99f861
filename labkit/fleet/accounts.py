"""End-to-end accounts of numbers that devices sent, the platform acknowledged and stored, and a handler received.

A counting device writes consecutive numbers to the alias `count` as `stamp(epoch, number)`: its epoch (incremented at
each start) and a number from 1 within it. The arrivals and their order show, for each device and epoch, which numbers
were lost, doubled or reordered. The devices record what they send; the caller of the run adds what the handler received
and what the platform has stored.

An acknowledged number is stored, but perhaps not for long: an alias has one datapoint a second, which a later number of
that second replaces, and only the newest `datapoints.kept` datapoints.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from labkit.core.errors import LabError
from labkit.core.extras import needs

if TYPE_CHECKING:
    from pandas import DataFrame

ALIAS = "count"
NUMBERS = 10**9  # in each epoch; a stamp stays below 2^53, so that scripts represent it exactly
EPOCHS = 2**53 // NUMBERS
COLUMNS = (
    *("sent", "acknowledged", "stored", "replaced", "forgotten"),
    *("handled", "lost", "unanswered", "arrived"),
    *("doubled", "reordered", "unknown"),
)

Key = tuple[str, int]  # identity, epoch
Sent = tuple[int, tuple[int, ...]]  # highest number sent, and numbers without a known answer


def stamp(epoch: int, number: int) -> int:
    """Return the value that a counting device writes. Raises LabError beyond 10^9 numbers or nine million epochs."""
    if not (0 < number < NUMBERS and 0 < epoch < EPOCHS):
        raise LabError(f"a device counts to {NUMBERS - 1} in {EPOCHS - 1} epochs, not to {number} in {epoch}")
    return epoch * NUMBERS + number


def read(value: object) -> tuple[int, int] | None:
    """Return epoch and number of a stamp, as a handler received or returned it; None if the value is no stamp."""
    text = f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        return None
    epoch, number = divmod(int(text), NUMBERS)
    return (epoch, number) if 0 < epoch < EPOCHS and number else None


@dataclass(slots=True)
class Sender:
    """Numbers that a device sent in an epoch: 1 to `sent`. unanswered: numbers without a known answer."""

    sent: int = 0
    unanswered: set[int] = field(default_factory=set)
    broken: bool = False  # its process died: it may have sent more than it reported

    def is_acknowledged(self, number: int) -> bool:
        """Return whether the platform acknowledged a number."""
        return number <= self.sent and number not in self.unanswered


@dataclass(slots=True)
class Handled:
    """Numbers of an epoch that a handler received. gaps: ranges below `highest` that it did not receive."""

    highest: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)  # first and last, ascending
    doubled: int = 0
    reordered: int = 0

    def add(self, number: int) -> None:
        """Count a received number."""
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

    def is_missing(self, number: int) -> bool:
        """Return whether a number did not arrive."""
        at = bisect_right(self.gaps, (number, NUMBERS)) - 1
        return number > self.highest or (at >= 0 and number <= self.gaps[at][1])

    def count_missing(self, sent: int) -> int:
        """Return how many of the numbers from 1 to `sent` did not arrive."""
        below = sum(max(min(last, sent) - first + 1, 0) for first, last in self.gaps)
        return below + max(sent - self.highest, 0)


class AccountState(NamedTuple):
    """Account of a device and epoch as plain data.

    stock: numbers stored, replaced and forgotten, None if not counted.
    """

    identity: str
    epoch: int
    sender: Sender | None
    handled: Handled | None
    stock: tuple[int, int, int] | None


class Accounts:
    """Accounts of a run, by device and epoch."""

    def __init__(self) -> None:
        self._senders: dict[Key, Sender] = {}
        self._handled: dict[Key, Handled] = {}
        self._changed: set[Key] = set()
        self._newest: dict[str, tuple[int, str]] = {}  # timestamp and value stored last, by identity
        self._replaced: dict[Key, set[int]] = {}  # numbers replaced by a value of the same second
        # Numbers stored, replaced and forgotten, at the last take_stock.
        self._stock: dict[Key, tuple[int, int, int]] = {}

    # --- events of the devices

    def sent(self, identity: str, epoch: int) -> int:
        """Count a number that the device is about to send, and return it."""
        key = identity, epoch
        sender = self._senders.get(key)
        if sender is None:
            sender = self._senders[key] = Sender()
        number = sender.sent = sender.sent + 1
        sender.unanswered.add(number)
        self._changed.add(key)
        return number

    def unsent(self, identity: str, epoch: int, number: int) -> None:
        """Withdraw the last number of a device, which it did not send after all."""
        key = identity, epoch
        self._senders[key].unanswered.discard(number)
        self._senders[key].sent = number - 1
        self._changed.add(key)

    def acknowledged(self, identity: str, epoch: int, number: int) -> None:
        """Count a number that the platform has acknowledged as stored."""
        key = identity, epoch
        self._senders[key].unanswered.discard(number)
        self._changed.add(key)

    def broken(self, identity: str, epoch: int) -> None:
        """Mark an epoch whose process died: unreported numbers are inferred from the arrivals."""
        self._senders.setdefault((identity, epoch), Sender()).broken = True

    def epochs(self) -> dict[str, int]:
        """Return the last epoch of each device that either side has seen."""
        found: dict[str, int] = {}
        for identity, epoch in (*self._senders, *self._handled):
            found[identity] = max(found.get(identity, 0), epoch)
        return found

    def take(self) -> dict[Key, Sent]:
        """Return the changed counts of devices since the last call: input of `put` in another process."""
        taken = {
            key: (self._senders[key].sent, tuple(sorted(self._senders[key].unanswered)))
            for key in self._changed
        }
        self._changed.clear()
        return taken

    def put(self, taken: Mapping[Key, Sent]) -> None:
        """Store counts that `take` returned in another process."""
        for key, (sent, unanswered) in taken.items():
            sender = self._senders.setdefault(key, Sender())
            sender.sent, sender.unanswered = sent, set(unanswered)

    def states(self) -> list[AccountState]:
        """Return all accounts as plain data: input of `restore` in another process."""
        keys = dict.fromkeys((*self._senders, *self._handled))
        return [
            AccountState(*key, self._senders.get(key), self._handled.get(key), self._stock.get(key))
            for key in keys
        ]

    def restore(self, states: Iterable[AccountState]) -> None:
        """Replace the accounts by those that `states` returned in another process."""
        self._senders, self._handled, self._stock = {}, {}, {}
        for each in states:
            key = each.identity, each.epoch
            if each.sender is not None:
                self._senders[key] = each.sender
            if each.handled is not None:
                self._handled[key] = each.handled
            if each.stock is not None:
                self._stock[key] = each.stock

    # --- state of the platform

    def written(self, identity: str, timestamp: int, value: str) -> None:
        """Record a value that the platform has stored, which replaces the device's value of the same second."""
        before = self._newest.get(identity)
        self._newest[identity] = timestamp, value
        if before is None or before[0] != timestamp or before[1] == value:
            return
        if (found := read(before[1])) is not None:
            epoch, number = found
            self._replaced.setdefault((identity, epoch), set()).add(number)

    def senders(self) -> dict[str, list[int]]:
        """Return the epochs of each device that has sent a number."""
        found: dict[str, list[int]] = {}
        for identity, epoch in self._senders:
            found.setdefault(identity, []).append(epoch)
        return found

    def take_stock(self, identity: str, epochs: Iterable[int], values: Iterable[str]) -> None:
        """Count which acknowledged numbers of a device are among its datapoints, and why the others are not.

        values: of all current datapoints of the device.
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

    # --- events of the handler

    def handled(self, identity: str, value: object) -> None:
        """Count a value that a handler received; a value that is no stamp is ignored."""
        if (found := read(value)) is not None:
            epoch, number = found
            self._handled.setdefault((identity, epoch), Handled()).add(number)

    # --- results

    def losses(self) -> DataFrame:
        """Return a table of counts with a row for each device and epoch.

        sent; acknowledged: the sum of stored (still a datapoint at the last `take_stock`), replaced (by a later value
        of the same second) and forgotten (deleted since, beyond `datapoints.kept`); handled: distinct sent numbers that
        the handler received; lost: acknowledged, but never handled; unanswered: without an answer; arrived: unanswered,
        but handled; doubled: repeated deliveries; reordered: handled after a later number; unknown: handled, but never
        sent.
        """
        with needs("tables"):
            import pandas as pd

        keys = sorted(self._senders)
        rows = [self._row(key) for key in keys]
        index = pd.MultiIndex.from_tuples(keys, names=["identity", "epoch"]) if keys else None
        if index is None:
            index = pd.MultiIndex.from_arrays([[], []], names=["identity", "epoch"])
        return pd.DataFrame(rows, columns=list(COLUMNS), index=index)

    def totals(self) -> dict[str, int]:
        """Return the sums of the columns of `losses`."""
        rows = [self._row(key) for key in self._senders]
        return {name: sum(row[at] for row in rows) for at, name in enumerate(COLUMNS)}

    @property
    def summary(self) -> str:
        """Totals of the accounts in one line."""
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

    def _row(self, key: Key) -> list[int]:
        """Return the counts of a device and epoch, in the order of COLUMNS."""
        sender, handled = self._senders[key], self._handled.get(key, Handled())
        sent, unanswered = sender.sent, len(sender.unanswered)
        if sender.broken and handled.highest > sent:  # sent, but not reported
            unanswered += handled.highest - sent
            sent = handled.highest
        absent = handled.count_missing(sent)
        without = [number for number in sender.unanswered if handled.is_missing(number)]
        unreported = max(sent - sender.sent, 0) - (absent - handled.count_missing(sender.sent))
        arrived = len(sender.unanswered) - len(without) + unreported
        lost = absent - (unanswered - arrived)
        unknown = (
            handled.highest - sent - (handled.count_missing(handled.highest) - absent)
            if handled.highest > sent
            else 0
        )
        return [
            *(sent, sent - unanswered, *self._stock.get(key, (0, 0, 0))),
            *(sent - absent, lost, unanswered, arrived),
            *(handled.doubled, handled.reordered, unknown),
        ]


def route_deliveries(answer: object) -> Iterable[tuple[str, Any]]:
    """Yield identity and value of each delivery from a route's answer, {identity: [value, …]} in order of arrival.

    Raises LabError for any other answer.
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
