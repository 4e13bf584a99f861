"""The handle of a lab's journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from labkit.control.clock import Moment
from labkit.control.journal import Entry
from labkit.core.errors import LabError, did_you_mean
from labkit.core.handle import Handle
from labkit.core.words import counted
from labkit.lab.runtime import Runtime
from labkit.lab.show import entries_frame

if TYPE_CHECKING:
    import pandas


MOST_COMPARED = 1_000  # identities of a product that may have been meant by a similar one


class DeviceWrite(NamedTuple):
    """Values that a device has written with one timestamp.

    time: Unix seconds, of lab time unless the device sent its own; values: text by alias, cut if it is long; request:
    sequence number of the request's record; identity: of the device.
    """

    product: str
    time: float
    values: dict[str, str]
    request: int | None
    identity: str


class LabJournal(Handle):
    """All records of what happened in a lab: requests, events, script runs, calls and more."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.journal

    def frame(self, kind: str | None = None, actor: str | None = None) -> pandas.DataFrame:
        """Return a DataFrame of the records, of one kind or one actor if given."""
        return entries_frame(self.select(kind, actor))

    def canonical(self, since: int = 0) -> str:
        """Return the records as text that is equal, byte for byte, for two runs with the same seed.

        since: sequence number of a record; only those after it are returned.
        """
        return self._runtime.run(self._control.canonical, since)

    def canonical_name(self, sequence: int) -> str | None:
        """Return the name of a record in the canonical text, `acme#12`; None if the journal does not have it.

        sequence: number of the record.
        """
        return self._runtime.run(self._control.canonical_name, sequence)

    def select(self, kind: str | None = None, actor: str | None = None) -> list[Entry]:
        """Return the records, of one kind or one actor if given."""
        return self._runtime.run(self._control.select, kind, actor)

    def search(
        self,
        text: str = "",
        *,
        kind: str | None = None,
        device: str | None = None,
        solution: str | None = None,
        status: int | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        before: int | None = None,
        limit: int | None = 100,
    ) -> list[Entry]:
        """Return the records that match all conditions, newest first.

        text: a part of the summary or the detail; kind: of the record; device: `product/identity`, or solution: the
        actor; status: of the answer or the run; since, until: lab time of the first and the last record; before:
        sequence number that those of all records are below; limit: most records, None for all.
        """
        search, given = self._control.search, (kind, device, solution, status, text, since, until, before)
        return self._runtime.listed(search, *given, limit=limit)

    def writes(self, identity: str | None = None, product: str | None = None) -> list[DeviceWrite]:
        """Return what devices have written, oldest first: every write, also of equal values in one second.

        identity: of one device; None for all. On a virtual clock time stands still, so two writes of an alias are one
        datapoint; here they are two. product: only of this product. What the journal has cut or dropped is missing
        here, too.
        """
        found = [
            DeviceWrite(name, point["timestamp"] / 1_000_000, dict(point["values"]), event.cause, device)
            for event in self.select("event")
            if event.summary == "data_in" and event.detail is not None
            for name, _, device in [event.actor.partition("/")]
            if identity in (None, device) and product in (None, name)
            for point in event.detail["payload"]
            if isinstance(point, Mapping)  # else the journal's note of how many it has left out
        ]
        if not found and identity not in (None, *self._runtime.parts.devices) and self._runtime.story is None:
            run, control = self._runtime.run, self._runtime.control
            products = [each.id for each in run(control.products.all)]
            some = (run(control.identities.all, name, None, MOST_COMPARED) for name in products)
            known = [each.identity for page in some for each in page]
            if hint := did_you_mean(identity, known):
                self._runtime.warn(f"writes: no device {identity!r}{hint}")
        return found

    def calls(self, service: str, solution: str | None = None) -> list[dict[str, Any]]:
        """Return what scripts and handlers of a solution (None: of all) asked of a service, as `Lab.calls` has it."""
        made = [each for each in self.select("call", solution) if each.cause is not None]
        found = [
            {"operation": operation, "arguments": (each.detail or {}).get("parameters") or {}}
            for each in made
            for name, _, operation in [each.summary.partition(".")]
            if name == service
        ]
        others = {each.summary.partition(".")[0] for each in made}
        if not found and (hint := did_you_mean(service, others)):
            self._runtime.warn(f"calls: none of {service!r}{hint}")
        return found

    def trace(self, record: Entry | int) -> pandas.DataFrame:
        """Return a DataFrame of the records that led to a record, and of all that followed from them.

        record: a record or its sequence number.
        """
        sequence = record.sequence if isinstance(record, Entry) else record
        if not isinstance(sequence, int):
            raise LabError(f"record: expected a record of the journal or its sequence number, not {record!r}")
        return entries_frame(self._runtime.run(self._control.trace, sequence))

    def clear(self) -> None:
        """Delete all records."""
        self._runtime.run(self._control.clear)

    @property
    def dropped(self) -> int:
        """Number of records that were deleted because the journal was full."""
        return self._runtime.run(self._control.state).dropped

    def __len__(self) -> int:
        return self._runtime.run(self._control.state).records

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.select())

    def __repr__(self) -> str:
        state = self._runtime.run(self._control.state)
        return f"<journal: {counted(state.records, 'record')}, {state.dropped} dropped>"

    def _repr_html_(self) -> str:
        if not len(self):
            return "<i>no records</i>"
        frame = entries_frame(self._runtime.run(self._control.last, 20))
        html: str = frame.to_html(max_cols=8)
        return f"<b>{counted(len(self), 'record')}</b>, the last {len(frame)}:{html}"
