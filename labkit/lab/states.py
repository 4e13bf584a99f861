"""The part of a lab's handle that keeps and continues its state: forks, snapshots and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from labkit.core.errors import LabError
from labkit.core.handle import Handle
from labkit.lab.futures import Futures, fork_lab
from labkit.lab.journal import LabJournal
from labkit.lab.runtime import Runtime
from labkit.lab.snapshot import Snapshot, read_snapshot

if TYPE_CHECKING:
    from labkit.control.lab import SnapshotInfo
    from labkit.lab.product import Product

V = TypeVar("V")
T = TypeVar("T")


class LabStates(Handle):
    """A lab's state: its journal and its end, futures from here on, snapshots, and files of these."""

    _runtime: Runtime
    _products: dict[str, Product]
    journal: LabJournal

    def close(self) -> None:
        """Close all connections, end the platform and its thread. A second call does nothing."""
        self._runtime.close()

    @property
    def closed(self) -> bool:
        """Whether the lab has been closed."""
        return self._runtime.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def fork(
        self,
        function: Callable[[Any, V], T],
        over: Iterable[V],
        *,
        workers: int = 2,
        within: float | None = None,
        check: bool = True,
        progress: bool | None = None,
    ) -> Futures[V, T]:
        """Try a future of this lab for each value, and return the futures: `lab.fork(roll_out, over=["2.0", "2.1"])`.

        Each future is a fork of this process, so it begins with all that the lab, its handles and your variables have
        now, and changes none of it: `function(lab, value)` runs there, and its result and the journal from then on come
        back. Files that it writes are real.

        function: gets the lab, which continues in the fork, and the value; returns what pickle can send, such as
        numbers, dicts or a DataFrame. over: the values. workers: most futures at one time. within: real seconds after
        which a future is ended with an error. check: whether to raise LabError if a function has failed, once all have
        ended; otherwise `Future.error` has it. progress: whether to show a bar; None: in a terminal and in JupyterLab.

        The lab stands still meanwhile: it ends its connections before, listens again after, and keeps its ports. Raises
        LabError, and changes nothing, while a fleet runs or a poll is open, in a story, where a fault delays work, with
        a Keystore in an outside Redis, and where the system cannot fork (Windows).
        """
        if not callable(function):
            raise LabError(f"fork: expected a function of the lab and a value, not {function!r:.100}")
        if isinstance(over, str | bytes) or not isinstance(over, Iterable):
            raise LabError(f"fork: over: expected values, such as over=[1, 2], not {over!r:.100}")
        functions = [(value, partial(function, self, value)) for value in over]
        return fork_lab(
            self._runtime, functions, workers=workers, within=within, check=check, progress=progress
        )

    @overload
    def snapshot(self, name: None = None, *, journal: bool = True) -> Snapshot: ...

    @overload
    def snapshot(self, name: str, *, journal: bool = True) -> SnapshotInfo: ...

    def snapshot(self, name: str | None = None, *, journal: bool = True) -> Snapshot | SnapshotInfo:
        """Return the whole state of the lab: `past = lab.snapshot(); …; lab.restore(past)`.

        With a name, a word, the lab keeps it until it ends: `lab.snapshot("past"); …; lab.restore(name="past")`;
        `lab.snapshots` lists them, `lab.remove_snapshot("past")` removes one.

        It has all data, the clock, products, solutions and scripts of cells, providers with their codes and tokens,
        mails, handsets, faults with their counts and late events, counts of identifiers and runs, and the credentials
        that handles and fleets hold. With a seed, a restored lab continues exactly as this one does.

        It does not have open connections (the lab ends idle ones and websockets now), globals of scripts, cookies, what
        devices of fleets remember (a new run begins anew), files of solutions' folders, and the CA. journal: whether to
        keep the journal's records; its numbers continue without them, too.

        Raises LabError while a fleet runs, in a story, while a poll is open or a fault delays work, and for handlers
        and services in Python, which no file can contain.
        """
        states = {id: each.handle_states() for id, each in self._products.items()}
        found = self._call("snapshot", states, journal, name)
        return Snapshot(found.content, own=True) if name is None else found

    @property
    def snapshots(self) -> list[SnapshotInfo]:
        """Snapshots that the lab keeps, by name: name, lab time and size in bytes."""
        return self._runtime.run(self._runtime.control.lab.snapshots)

    def remove_snapshot(self, name: str) -> None:
        """Remove the snapshot that the lab keeps under a `name`. Raises UnknownError if there is none."""
        self._runtime.run(self._runtime.control.lab.remove_snapshot, name)

    def save(self, path: str | Path, *, journal: bool = True) -> Path:
        """Write a snapshot to a file, and return its path: `lab.save("past.lab")`. Another process can restore it.

        path: of the file, which is replaced if it exists; it has the lab's secrets, and only its owner can read it.
        journal: as of `snapshot`, whose errors this raises, too.
        """
        return self.snapshot(journal=journal).save(path)

    def restore(self, past: Snapshot | str | Path | None = None, *, name: str | None = None) -> None:
        """Replace the whole state of this lab by that of a snapshot.

        past: a snapshot, or the path of its file: `Lab(seed=7).restore("past.lab")`; name: or that of one that this lab
        keeps. The lab keeps its ports, its CA and its settings of `guard`. It needs the seed, the domain, the profile
        and the limits of datapoints that the lab of the snapshot had. A file runs no code and reads no other file: for
        a solution with a folder, add the solution with the folder before.

        Raises LabError, and changes nothing, for a file that is damaged, of another version or larger than 4 GiB, for a
        lab with a data file, and as `snapshot` does.
        """
        if name is not None and past is None:
            states = self._call("restore", None, True, name)
        elif name is None and isinstance(past, Snapshot | str | Path):
            is_text = isinstance(past, str) and not Path(past).exists()
            if is_text and past in [each.name for each in self.snapshots]:
                raise LabError(f"restore: there is no file {past}; did you mean name={past!r}?")
            snapshot = past if isinstance(past, Snapshot) else read_snapshot(past)
            states = self._call("restore", snapshot.content, snapshot.own)
        else:
            raise LabError(
                f"restore: expected a snapshot or the path of its file, or name=…, not {past!r:.100}"
            )
        for id in states.keys() - self._products.keys():
            self._add_handle(id)
        for id, product in self._products.items():
            product.restore_handles(states.get(id))

    def _add_handle(self, id: str) -> None:
        """Make the handle of an existing product."""

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call an operation on the lab's state, without connections of the lab's handles."""
        runtime = self._runtime
        if runtime.story is not None:
            raise LabError(f"{name}: the lab is in a story: do it before or after `with lab.story()`")
        runtime.run(runtime.control.lab.expect_still, name)
        runtime.run(runtime.disconnect)
        return runtime.run(getattr(runtime.control.lab, name), *arguments)
