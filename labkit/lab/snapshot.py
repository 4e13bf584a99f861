"""Snapshots of a lab in memory and in files."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from labkit.control.lab import MOST_SNAPSHOT, snapshot_seed
from labkit.core.errors import LabError
from labkit.core.handle import Handle


@dataclass(frozen=True)
class Snapshot(Handle):
    """The whole state of a lab at one moment: see `Lab.snapshot`.

    content: as its file has it; own: whether this process took it, so that folders of solutions that it names may be
    read.
    """

    content: bytes = field(repr=False)
    own: bool = False

    def save(self, path: str | Path) -> Path:
        """Write the snapshot to a file, in place of an existing one, and return its path.

        path: of the file. Only its owner can read it, since it has the lab's secrets. Raises LabError if it cannot be
        written; an existing file is then unchanged.
        """
        target = Path(path)
        made: str | None = None
        try:
            descriptor, made = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(self.content)
                file.flush()
                os.fsync(file.fileno())
            Path(made).replace(target)
        except OSError as error:
            if made is not None:
                with suppress(OSError):
                    Path(made).unlink()
            raise LabError(f"snapshot: cannot write {target}: {error.strerror or error}") from None
        return target

    @property
    def seed(self) -> int | None:
        """Seed of the lab, which one that restores the snapshot needs, too; None if it had none."""
        return snapshot_seed(self.content)

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.content)

    def __repr__(self) -> str:
        return f"<snapshot of {self.size / 1e6:.1f} MB>"


def read_snapshot(path: str | Path) -> Snapshot:
    """Return the snapshot of a file. Raises LabError for one that cannot be read, or is too large."""
    target = Path(path)
    try:
        with target.open("rb") as file:
            content = file.read(MOST_SNAPSHOT + 1)
    except OSError as error:
        raise LabError(f"restore: cannot read {target}: {error.strerror or error}") from None
    if len(content) > MOST_SNAPSHOT:
        raise LabError(f"restore: {target} is larger than a snapshot can be ({MOST_SNAPSHOT // 2**30} GiB)")
    return Snapshot(content)
