"""Files that come as texts and bytes, from a process that shares no disk with the lab: of solutions and of products."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Self

from pydantic import ConfigDict, Field, PlainSerializer

from labkit.control.bounds import Content, Id, Line
from labkit.control.data import Data, base64_text
from labkit.core.errors import LabError, OwnProcessError, SettingsError
from labkit.core.files import temporary_prefix
from labkit.settings import ContentFile
from labkit.settings.notebooks import resolve
from labkit.solutions.folders.boundary import check_depth

MAX_FILES = 2_000
MAX_SIZE = 2**24  # of a solution's file

FilePath = Annotated[str, Field(min_length=1, max_length=512)]
FileText = Annotated[str, Field(max_length=MAX_SIZE)]


class FileBytes(Data):
    """A file that is no text: `{"$bytes": "AP8="}` in JSON (base64)."""

    model_config = ConfigDict(serialize_by_alias=True)

    data: Annotated[
        bytes, Field(max_length=MAX_SIZE, alias="$bytes"), PlainSerializer(base64_text, when_used="json")
    ]

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Return the bytes of a file."""
        return cls(**{"$bytes": data})


class ContentUpload(Data):
    """A content item of a product with its data.

    file: name of its file; id: its id, by default that name; type: its Content-Type; description: text that devices can
    read.
    """

    file: Id
    data: Annotated[Content, PlainSerializer(base64_text, when_used="json")]
    id: Id | None = None
    type: Line = "application/octet-stream"
    description: Line = ""


SolutionFiles = Annotated[Mapping[FilePath, FileText | FileBytes], Field(max_length=MAX_FILES)]
ContentUploads = Annotated[Sequence[ContentUpload], Field(max_length=MAX_FILES)]


class Uploads:
    """Folders on the lab's disk for the files that were sent, until the lab ends."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._count = 0

    def holds(self, paths: Sequence[Path]) -> bool:
        """Return whether these are the paths of a solution whose files were sent."""
        return self._root is not None and [each.parent for each in paths] == [self._root]

    def store(self, files: SolutionFiles) -> Path:
        """Write the files of a solution to a new folder, and return it. Call it in a thread.

        Raises LabError for a path that is absolute, that leads out of the folder, or that cannot be a file's.
        """
        self._count += 1
        folder = self._folder() / str(self._count)
        folder.mkdir()
        for name, file in files.items():
            _write(folder, name, file.encode() if isinstance(file, str) else file.data)
        return folder

    def store_content(self, product: str, items: ContentUploads) -> tuple[ContentFile, ...]:
        """Write the content of a product, each time to the same paths, and return its settings. Call it in a thread.

        Raises LabError for a name that no file can have.
        """
        made = []
        for number, each in enumerate(items):
            folder = self._folder() / product / str(number)
            if "/" in each.file:
                raise LabError(f"content: expected the name of a file without its folder, not {each.file!r}")
            _write(folder, each.file, each.data)
            settings = each.model_dump(exclude={"data", "file"}, exclude_unset=True)
            made.append(ContentFile(file=folder / each.file, **settings))
        return tuple(made)

    def _folder(self) -> Path:
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix=temporary_prefix()))
            weakref.finalize(self, shutil.rmtree, self._root, ignore_errors=True)
        return self._root


def _write(folder: Path, name: str, data: bytes) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
        raise LabError(
            f"files: expected paths inside of the solution folder, such as 'endpoints/a.lua', not {name!r}"
        )
    try:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    except (OSError, ValueError) as error:  # too long, a NUL, or a file where another path has a folder
        raise LabError(f"files: {name!r}: {getattr(error, 'strerror', None) or error}") from None


def read_folder(paths: Sequence[Path]) -> dict[str, str | FileBytes]:
    """Return the files of a solution's folder by path, without hidden ones. Call it in a thread.

    Raises OwnProcessError for several folders, SettingsError for a link that leads out and for too large a file.
    """
    if len(paths) != 1:
        raise OwnProcessError(
            f"path: {len(paths)} folders need the lab's own process: put them together in one"
        )
    root = resolve(paths[0], Path())
    if not root.is_dir():
        raise SettingsError(f"{root}: no such folder")
    check_depth(root)
    found: dict[str, str | FileBytes] = {}
    for file in sorted(root.rglob("*")):
        name = file.relative_to(root)
        if not file.is_file() or any(part.startswith(".") for part in name.parts):
            continue
        if not file.resolve().is_relative_to(root.resolve()):
            raise SettingsError(f"{root}: {name} leads out of the solution folder")
        found[name.as_posix()] = _read(file)
    return found


def _read(file: Path) -> str | FileBytes:
    with file.open("rb") as opened:
        data = opened.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise SettingsError(
            f"{file}: a lab in another process takes files of at most {MAX_SIZE // 2**20} MiB"
        )
    try:
        return data.decode()
    except UnicodeDecodeError:
        return FileBytes.of(data)


def read_content(product: str, items: Sequence[ContentFile]) -> list[ContentUpload]:
    """Return the content of a product with its data. Call it in a thread.

    Raises SettingsError for an unreadable file.
    """
    made = []
    for each in items:
        try:
            data = each.file.read_bytes()
        except OSError as error:
            raise SettingsError(f"product {product!r}: {each.file}: {error.strerror}") from error
        settings = each.model_dump(exclude={"file"}, exclude_unset=True)
        made.append(ContentUpload.model_construct(file=each.file.name, data=data, **settings))
    return made
