"""Requirements and checks of one's own: a folder with `requirements.toml` and `checks.py`, in the formats of a part.

Several files of checks are found, too (`checks_alarm.py`). They import files beside them with `from . import models`.
Unlike in a part of this package, titles of parts and the sources of a requirement may be left out, numbers may have
gaps, and each requirement has a check. A requirement may also be a table, as the first releases had it:
`[[requirement]]` with `id`, `level`, `sources` and `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from labkit.conformance.catalogue import Catalogue, PartFile, Reference, Requirement, RequirementEntry, load
from labkit.conformance.check import Check, all_checks
from labkit.conformance.coverage import Coverage, cover
from labkit.conformance.entries import MalformedEntryError, parse, toml
from labkit.conformance.own_modules import OwnChecksError, import_checks, shown
from labkit.conformance.target import LOCAL
from labkit.core.errors import unknown

Folders = Sequence[str | Path]

REQUIREMENTS = "requirements.toml"
# the first line of a requirement: a table, or its sources by dotted keys
BEGIN = re.compile(r"\s*(\[\[\s*requirement\s*\]\]|[\w-]+\s*\.\s*\w+\s*=\s*\[)")
AT_LINE = re.compile(r" \(at line (\d+), column \d+\)$")
Id = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]*(-[A-Z][A-Z0-9]*)*-[1-9][0-9]*$")]
Places = dict[str, str]  # file and line of each requirement and check, by id or name


class _File(PartFile):
    retired: list[Id] = Field(default=[])


class _Entry(RequirementEntry):
    id: Id
    sources: list[Reference] = Field(default=[])


@dataclass(frozen=True, slots=True)
class _Folder:
    requirements: tuple[Requirement, ...]
    checks: tuple[Check, ...]
    titles: Mapping[str, str]
    places: Places


def read_own(folders: Folders) -> Coverage:
    """Return the requirements of folders with their checks, in the order of the folders.

    Raises CatalogueError for the first error: an OwnChecksError, or a MalformedEntryError for a file of another form.
    """
    found = [_read(each) for each in dict.fromkeys(Path(each).resolve() for each in folders)]
    _no_duplicates(found)
    requirements = [each for folder in found for each in folder.requirements]
    parts = list(dict.fromkeys(each.part for each in requirements))
    requirements.sort(key=lambda each: parts.index(each.part))  # two folders may share a part
    titles = {name: title for folder in found for name, title in folder.titles.items()}
    catalogue = Catalogue(
        {source: load().statements[source] for each in requirements for source in each.sources},
        {each.id: each for each in requirements},
        frozenset(),
        {part: titles.get(part, "") for part in parts},
    )
    return cover(catalogue, chain.from_iterable(each.checks for each in found), ())


def _read(folder: Path) -> _Folder:
    """Return the content of a folder. Raises CatalogueError if it is wrong in itself."""
    if not folder.is_dir():
        raise OwnChecksError("checks", shown(folder), "there is no such folder")
    titles, requirements, places = _requirements(folder / REQUIREMENTS)
    known = [each.id for each in requirements]
    checks: list[Check] = []
    for place, check in import_checks(folder):
        _valid(check, place, known)
        if check.name in places:
            raise OwnChecksError(place, check.name, f"is there already, in {places[check.name]}")
        places[check.name] = place
        checks.append(check)
    tested = {id for check in checks for id in check.requirements}
    for id in known:
        if id not in tested:
            raise OwnChecksError(places[id], id, f"has no check in {shown(folder)}/checks.py")
    return _Folder(tuple(requirements), tuple(checks), titles, places)


def _requirements(path: Path) -> tuple[Mapping[str, str], list[Requirement], Places]:
    """Return the titles of the parts, the requirements of a file, and their places."""
    name = shown(path)
    if not path.is_file():
        raise OwnChecksError("checks", name, "there is no such file")
    try:
        file = parse(_File, toml(name, path), name, "top level")
    except MalformedEntryError as error:
        raise _at_line(error) from None
    lines = path.read_text(encoding="utf-8").splitlines()
    begins = [number for number, line in enumerate(lines, 1) if BEGIN.match(line)]
    found: list[Requirement] = []
    places: Places = {}
    for number, values in enumerate(file.requirement):
        place = f"{name}:{begins[number]}" if len(begins) == len(file.requirement) else name
        entry = parse(_Entry, values, place, str(values.get("id", "an entry without id")))
        if wrong := [source for source in entry.sources if source not in load().statements]:
            raise OwnChecksError(place, entry.id, f"no statement {wrong[0]!r}; see `labkit list`")
        if entry.id in file.retired:
            raise OwnChecksError(place, entry.id, "is retired and may not be used again")
        if entry.id in places:
            raise OwnChecksError(place, entry.id, f"is there already, in {places[entry.id]}")
        places[entry.id] = place
        found.append(Requirement(entry.id, entry.level, tuple(entry.sources), entry.text, entry.not_mutable))
    if not found:
        raise OwnChecksError(name, "requirement", "there is none; each has a line such as ACME-1.must = []")
    return file.parts, found, places


def _at_line(error: MalformedEntryError) -> MalformedEntryError:
    """Return the error of a file that is not TOML with the line beside the file's name."""
    at = AT_LINE.search(error.message)
    if at is None:
        return error
    return MalformedEntryError(f"{error.file}:{at[1]}", error.entry, error.message[: at.start()])


def _valid(check: Check, place: str, known: Sequence[str]) -> None:
    """Raise OwnChecksError for a check that cannot run, or that tests what is not in its folder."""
    if not check.requirements:
        raise OwnChecksError(place, check.name, "names no requirement")
    for id in check.requirements:
        if id not in known:
            raise OwnChecksError(place, check.name, unknown("requirement", id, known))
    for feature in sorted(check.needs - LOCAL):
        raise OwnChecksError(place, check.name, f"needs: {unknown('feature', feature, sorted(LOCAL))}")
    if not iscoroutinefunction(check.function):
        raise OwnChecksError(place, check.name, "is no async function: write `async def`")


def _no_duplicates(folders: Iterable[_Folder]) -> None:
    """Raise OwnChecksError for an id or a check's name that this package or another folder uses."""
    catalogue = load()
    areas = {each.area for each in catalogue}
    taken = {each.name: "labkit itself" for each in all_checks()}
    for folder in folders:
        for each in folder.requirements:
            if each.area in areas:
                raise OwnChecksError(
                    folder.places[each.id],
                    each.id,
                    f"{each.area} is a prefix of labkit's own requirements; use another one",
                )
        for name, place in folder.places.items():
            if name in taken:
                raise OwnChecksError(place, name, f"is there already, in {taken[name]}")
            taken[name] = place
