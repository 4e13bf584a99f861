"""Selection of a section's files in a solution folder: those that match `include` and not `exclude`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePath

from labkit.core.errors import SettingsError
from labkit.solutions.folders.boundary import Boundary
from labkit.solutions.folders.folder_finding import FolderFinding, warning
from labkit.solutions.folders.project import Section

YAML = (".yaml", ".yml")
TYPES = ".labkit.lua"  # written by `labkit docs --lua-types`, for editors alone


def scripts(root: Boundary, section: Section, findings: list[FolderFinding]) -> list[Path]:
    """Return the selected files that can be scripts: a pattern such as `**/*.*` also matches YAML, which never is."""
    return [file for file in select(root, section, findings) if file.suffix not in YAML]


def select(root: Boundary, section: Section, findings: list[FolderFinding]) -> list[Path]:
    """Return the selected files, sorted; append a warning for each pattern of `include` that matches no file.

    Raises SettingsError for a pattern that leaves the folder or that is none, and for a link that leads outside.
    """
    base = root.resolve("location", section.location)
    if base.is_file():
        return [base]
    for pattern in (*section.include, *section.exclude):
        if ".." in PurePath(pattern).parts:
            raise SettingsError(
                f"{section.location}: include, exclude: {pattern!r} leaves the folder, expected no '..'"
            )
    try:
        dropped = set(_matching(base, section.exclude))
        check_links(root, base, dropped)
        chosen = {pattern: _files(base, pattern) for pattern in section.include}
        if "include" in section.model_fields_set:
            findings += _without_files(base, section, chosen)
    except (ValueError, NotImplementedError) as error:
        raise SettingsError(f"{section.location}: include, exclude: {error}") from None
    found = sorted({file for files in chosen.values() for file in files})
    return [root.check(file) for file in found if dropped.isdisjoint((file, *file.parents))]


def _without_files(base: Path, section: Section, chosen: dict[str, set[Path]]) -> Iterator[FolderFinding]:
    """Yield a warning for each pattern without a file, if the folder has any: Git keeps no empty ones."""
    empty = [pattern for pattern, files in chosen.items() if not files]
    if empty and any(not each.name.startswith(".") and each.is_file() for each in base.rglob("*")):
        for pattern in empty:
            deeper = f"{pattern.rstrip('/')}/*"
            hint = f"; did you mean {deeper!r}?" if _files(base, deeper) else ""
            yield warning(f"{section.location}/", f"include: {pattern!r} matches no file{hint}")


def check_links(root: Boundary, base: Path, dropped: Collection[Path] = ()) -> None:
    """Raise SettingsError for a linked folder below `base` that resolves outside, even if no file in it matches."""
    for path in base.rglob("*"):
        if path.is_symlink() and path.is_dir() and not any(each in dropped for each in (path, *path.parents)):
            root.check(path)


def _files(base: Path, pattern: str) -> set[Path]:
    if pattern.endswith("**"):  # only folders match; from Python 3.13 on, glob() gives their files, too
        return set()
    return {file for file in _matching(base, [pattern]) if file.is_file() and file.name != TYPES}


def _matching(base: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """Return the files and folders below `base` that match a pattern; one without a slash matches at any depth."""
    for pattern in patterns:
        yield from base.glob(pattern if "/" in pattern else f"**/{pattern}")
