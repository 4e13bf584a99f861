"""The journal compared with a plain model of it: a list of records, of which the newest are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.core.bounded import ITEM, cut, cut_text
from labkit.core.canonical import canonical_text
from labkit.core.journal import Journal, RunRecords
from labkit.core.records import FIELDS, Record
from tests.sizes import size

FIELD = 200  # characters of a text, so that a batch of a few texts may hold more
PER_RUN = 4
KINDS, ACTORS = ("event", "request"), ("a", "b")
Back = int | Literal["run"] | None
COLUMNS = ("sequence", "time", "kind", "actor", "count", "summary", "cause", "status", "size", "detail")


@dataclass
class Row:
    """A record of the model. stored: whether it is in the list, and not beyond the limit of its run."""

    sequence: int
    time: int
    kind: str
    actor: str
    count: int
    summary: str
    cause: int | None
    detail: Any
    status: int | None = None
    size: int | None = None
    stored: bool = field(default=True, compare=False)


@dataclass
class Model:
    """Model of a journal, without regard to time and memory. seen: what watchers got, each with its name."""

    capacity: int
    time: int = 0
    rows: list[Row] = field(default_factory=list)
    watching: dict[str, str | None] = field(default_factory=dict)  # name of a watcher → kind, "" once ended
    seen: list[tuple[str, Row]] = field(default_factory=list)
    runs: dict[int, list[int]] = field(
        default_factory=dict
    )  # sequence → records, left out, outermost sequence

    @property
    def kept(self) -> list[Row]:
        return self.rows[-self.capacity :]

    def leaves_out(self, cause: int | None, count: int) -> bool:
        run = self.runs.get(cause or 0)
        if run is None:
            return False
        fits = run[0] + count <= PER_RUN
        run[0 if fits else 1] += count
        return not fits

    def add(self, kind: str, actor: str, text: str, cause: int | None, detail: Any = None) -> Row:
        sequence = len(self.rows) + 1
        earlier = cause if cause is not None and cause < sequence else None
        count = Counter(row.actor for row in self.rows)[actor] + 1
        shown = shortened(text) if detail is None else detail
        row = Row(sequence, self.time, kind, actor, count, cut_text(text, FIELD), earlier, shown)
        self.rows.append(row)
        return row

    def open(self, kind: str, actor: str, text: str, cause: int | None, detail: Any = None) -> Row:
        if self.leaves_out(cause, 1):
            return Row(
                cause or 0, self.time, kind, actor, 0, cut_text(text, FIELD), cause, None, stored=False
            )
        row = self.add(kind, actor, text, cause, detail)
        self.show(row, lambda watched: watched is None)
        self.show(row, lambda watched: watched == kind)
        return row

    def record(self, kind: str, actor: str, text: str, cause: int | None, detail: Any = None) -> None:
        if (row := self.open(kind, actor, text, cause, detail)).stored:
            self.show(row, lambda watched: watched == "")

    def record_all(self, kind: str, actor: str, texts: Sequence[str], cause: int | None) -> None:
        if any(watched in (None, "", kind) for watched in self.watching.values()):
            for text in texts:
                self.record(kind, actor, text, cause)
        elif not self.leaves_out(cause, len(texts)):
            for text in texts:
                self.add(kind, actor, text, cause)

    def show(self, row: Row, is_shown: Callable[[str | None], bool]) -> None:
        self.seen += [(name, replace(row)) for name, watched in self.watching.items() if is_shown(watched)]

    def begin_run(self, row: Row, cause: int | None) -> None:
        if row.stored:
            self.runs[row.sequence] = self.runs.get(cause or 0) or [0, 0, row.sequence]

    def end_run(self, row: Row) -> None:
        if not row.stored:
            return
        _, left_out, outermost = self.runs.pop(row.sequence)
        if left_out and outermost == row.sequence:
            text = f"{left_out} records of this run were left out (journal.per_run: {PER_RUN})"
            self.record("warning", row.actor, text, row.sequence, {"left_out": left_out})


def detail_of(text: str) -> dict[str, object]:
    return {"text": text, "longer": text * 3}


def shortened(text: str) -> Any:
    return cut(detail_of(text), FIELD, FIELDS * FIELD)


def entries_of(texts: Sequence[str]) -> list[tuple[str, partial[dict[str, object]], int]]:
    return [(text, partial(detail_of, text), ITEM + len(text)) for text in texts]


class Both:
    """A journal and its model, to which the same happens."""

    def __init__(self, capacity: int) -> None:
        self.model = Model(capacity)
        self.journal = Journal(lambda: self.model.time, capacity, FIELD, PER_RUN)
        self.seen: list[tuple[str, Row]] = []
        self.opened: list[tuple[Record, Row]] = []
        self.runs: list[tuple[Record, RunRecords, Row]] = []
        self.stops: dict[str, Callable[[], object]] = {}

    def _cause(self, back: Back) -> int | None:
        """Return a sequence number, counted back from the next one; `run`: that of the run under way, if any."""
        if back == "run":
            return self.runs[-1][0].sequence if self.runs else None
        return None if back is None else max(len(self.model.rows) + 1 - back, 0)

    def record(self, kind: str, actor: str, texts: Sequence[str], back: Back) -> None:
        text, cause = "".join(texts), self._cause(back)
        detail, holds = partial(detail_of, text), ITEM + len(text)
        self.journal.record(kind, actor, text, cause=cause, detail=detail, holds=holds)
        self.model.record(kind, actor, text, cause)

    def record_all(self, kind: str, actor: str, texts: Sequence[str], back: Back) -> None:
        cause = self._cause(back)
        self.journal.record_all(kind, actor, entries_of(texts), cause)
        self.model.record_all(kind, actor, texts, cause)

    def record_batch(self, kind: str, actor: str, texts: Sequence[str], back: Back) -> None:
        cause, holds = self._cause(back), sum(ITEM + len(text) for text in texts)
        self.journal.record_batch(kind, actor, len(texts), partial(entries_of, texts), holds, cause)
        self.model.record_all(kind, actor, texts, cause)

    def open(self, kind: str, actor: str, texts: Sequence[str], back: Back) -> None:
        text, cause = "".join(texts), self._cause(back)
        record = self.journal.open(kind, actor, text, cause, detail=partial(detail_of, text))
        self.opened.append((record, self.model.open(kind, actor, text, cause)))

    def end(self) -> None:
        if self.opened:
            record, row = self.opened.pop()
            record.status = row.status = 200
            record.detail = row.detail = {"ended": True}
            self.journal.end(record)
            self.model.show(row, lambda watched: watched == "")

    def run(self, kind: str, actor: str, texts: Sequence[str], back: Back) -> None:
        cause = self._cause(back)
        self.open(kind, actor, texts, back)
        record, row = self.opened.pop()
        self.runs.append((record, self.journal.begin_run(record, cause), row))
        self.model.begin_run(row, cause)

    def end_run(self) -> None:
        if self.runs:
            record, run, row = self.runs.pop()
            self.journal.end_run(record, run)
            self.model.end_run(row)

    def watch(self, watched: str | None) -> None:
        name = f"watcher {len(self.seen)} {len(self.stops)} {watched}"

        def note(record: Record) -> None:
            self.seen.append((name, row_of(record)))

        if watched:
            self.stops[name] = self.journal.watch_kind(watched, note)
        else:
            self.stops[name] = self.journal.watch(note, ended=watched == "")
        self.model.watching[name] = watched

    def unwatch(self) -> None:
        if self.stops:
            name, stop = self.stops.popitem()
            stop()
            del self.model.watching[name]

    def advance(self) -> None:
        self.model.time += 1

    def clear(self) -> None:
        self.journal.clear()
        self.model.rows.clear()
        self.model.runs.clear()
        self.opened.clear()
        self.runs.clear()

    def compare(self) -> None:
        """Compare what costs no reading of records."""
        assert len(self.journal) == len(self.model.kept)
        assert self.journal.dropped == len(self.model.rows) - len(self.model.kept)
        assert self.seen == self.model.seen

    def newest(self, count: int) -> None:
        assert [row_of(record) for record in self.journal.newest(count)] == self.model.kept[-count:][:count]

    def find(self, back: int) -> None:
        sequence = len(self.model.rows) + 1 - back
        found = self.journal.find(sequence)
        assert (found and row_of(found)) == next(
            (row for row in self.model.kept if row.sequence == sequence), None
        )

    def read(self, kind: str | None, actor: str | None) -> None:
        assert [row_of(record) for record in self.journal.select(kind, actor)] == [
            row for row in self.model.kept if kind in (None, row.kind) and actor in (None, row.actor)
        ]

    def read_all(self) -> None:
        self.read(None, None)
        assert [row_of(record) for record in self.journal] == self.model.kept
        assert self.journal.canonical() == canonical_text(self.model.kept, ())  # type: ignore[arg-type]


def row_of(record: Record) -> Row:
    return Row(**{name: getattr(record, name) for name in COLUMNS})


actors = st.sampled_from(ACTORS)
kinds = st.sampled_from(KINDS)
texts = st.lists(st.sampled_from(["", "", "x", "x", "x" * 80, "x" * 240]), min_size=1, max_size=4)
back = st.none() | st.just("run") | st.integers(-3, 6)
added = st.tuples(kinds, actors, texts, back)
nothing = st.just(())
STEPS: dict[Callable[..., None], tuple[int, st.SearchStrategy[Any]]] = {  # how often, and the arguments
    Both.record: (2, added),
    Both.record_all: (2, added),
    Both.record_batch: (6, added),
    Both.open: (3, added),
    Both.end: (1, nothing),
    Both.run: (2, added),
    Both.end_run: (1, nothing),
    Both.watch: (1, st.tuples(st.none() | st.just("") | kinds)),
    Both.unwatch: (4, nothing),
    Both.advance: (1, nothing),
    Both.clear: (1, nothing),
    Both.find: (3, st.tuples(st.integers(-1, 9))),
    Both.newest: (2, st.tuples(st.integers(0, 15))),
    Both.read: (2, st.tuples(st.none() | kinds, st.none() | actors)),
    Both.read_all: (4, nothing),
}
steps = st.sampled_from([step for step, (often, _) in STEPS.items() for _ in range(often)]).flatmap(
    lambda step: st.tuples(st.just(step), STEPS[step][1])
)


@settings(max_examples=size(60, 1000))
@given(st.integers(1, 8), st.lists(steps, min_size=20, max_size=60))
def test_a_journal_is_as_its_model(capacity: int, happens: list[tuple[Callable[..., None], Any]]) -> None:
    both = Both(capacity)
    for step, arguments in happens:
        step(both, *arguments)
        both.compare()
    both.read_all()
