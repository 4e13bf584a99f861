"""Copies of the notebooks for a learner, since JupyterLab saves by itself what is run, and what is half run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

FOLDER = "my-notebooks"  # in a checkout, which tells git to ignore it
RECORD = ".copied.json"  # in the folder of the copies: a digest of each file when it was copied
LEFT_OUT = "book"  # the documentation, which no notebook reads


def update(originals: Path, folder: Path) -> list[str]:
    """Copy what is new in `originals` to `folder`; return the names of changed originals whose copies are edited.

    An edited copy is never overwritten. A notebook that was only run is not edited: its cells have the same sources.
    """
    record = folder / RECORD
    before: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    now: dict[str, str] = {}
    outdated = []
    for name in _names(originals):
        copy, digest = folder / name, _digest(originals / name)
        if copy.exists() and _digest(copy) not in (before.get(name), digest):
            now[name] = before.get(name, "")
            outdated += [name] if digest != now[name] else []
            continue
        if not copy.exists() or digest != before.get(name):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(originals / name, copy)
        now[name] = digest
    for name in before.keys() - now.keys():
        if (folder / name).exists() and _digest(folder / name) == before[name]:
            (folder / name).unlink()
    record.write_text(json.dumps(now))
    return outdated


def _names(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        own = relative.parts[0] != LEFT_OUT and not any(
            each.startswith((".", "__")) for each in relative.parts
        )
        if own and path.is_file():
            yield str(relative)


def _digest(path: Path) -> str:
    """Return a digest of a file, of a notebook only that of its cells' sources."""
    data = path.read_bytes()
    if path.suffix == ".ipynb":
        with suppress(ValueError, KeyError, TypeError):  # else it is no notebook any more
            cells = json.loads(data)["cells"]
            data = json.dumps([[each["cell_type"], "".join(each["source"])] for each in cells]).encode()
    return sha256(data).hexdigest()
