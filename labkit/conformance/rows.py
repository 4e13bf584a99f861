"""Fault rows: mutants that are faults of the lab, in `faults.toml` of each part, beside its requirements.

    where = "GET /timestamp"                         # the default of all faults in the file
    ["DEV-TIME-1 DEV-TIME-2"]                        # ids of the requirements whose checks must fail
    an-hour-late = ["the time is that of another time zone", {edit = {"." = ["add", 3600]}}]
    no-challenge = ["a 401 has no WWW-Authenticate",
        {where = "* /*", product = "*", if_status = 401, drop = "@WWW-Authenticate"}]

A row has a name, which with its part names the mutant: `timestamp/an-hour-late`; its title, one sentence; and the
fault, the arguments of `lab.faults.add` (labkit.settings.faults): its site, effect and identities. A fault that is too
long for a line may be several tables, one after the other. The key `smoke` names another smoke check than the default,
if the fault breaks that one.

All rows of an area run on one lab, one after the other: the fault is added, the checks of each of the row's
requirements run until one fails, then the smoke check, and the fault is removed. So a row is cheap, and has
to leave the lab as it was: a fault that changes stored data is a patch instead (mutant.py). A row whose fault was never
applied proves nothing and is broken, as is one whose checks fail without the fault, too.

For authors:
- A fault changes requests (`when = "before"` with `edit`, `replace`, `put`, `drop`) or answers. It cannot change
  whether something is stored, counted or raised twice.
- `where` selects all sites, solutions or scripts that have such a path or operation; `product`, `solution` and `site`
  narrow it. The fault affects a check's set-up, too: if that fails, the row is broken. `if_given`, `if_answer`
  and `if_status` exclude requests that are not intended.
- An edit that makes no difference does not count as applied.
- Answers of 204 and 304 have no body, and the headers that frame a body cannot be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources.abc import Traversable
from typing import Any

from labkit.conformance import areas
from labkit.conformance.entries import DuplicateEntryError, MalformedEntryError, toml
from labkit.conformance.mutant import SMOKE, Mutant, Row, all_patches
from labkit.core.errors import SettingsError
from labkit.settings import FaultSettings, build


def load_rows(root: Traversable | None = None) -> list[Row]:
    """Return the rows of all parts, in the order of the files and of the lines in them.

    root: a folder of areas, instead of this package. Raises CatalogueError for the first invalid row, naming file and
    row.
    """
    return [row for file, content in areas.fault_files(root) for row in _rows(file, toml(file, content))]


def _rows(file: str, written: Mapping[str, Any]) -> Iterator[Row]:
    where = {key: value for key, value in written.items() if key == "where"}
    for requirements, rows in written.items():
        if requirements in where:
            continue
        if not isinstance(rows, Mapping):
            raise MalformedEntryError(file, requirements, "expected a table of rows")
        for name, values in rows.items():
            yield _row(file, requirements, name, values, where)


def _row(file: str, requirements: str, name: str, values: Any, default: Mapping[str, Any]) -> Row:
    match values:
        case [str(wrong), {}, *_] if wrong.strip() == wrong != "" and all(
            isinstance(each, Mapping) for each in values[1:]
        ):
            fault = {**default, **_joined(file, name, values[1:])}
        case _:
            raise MalformedEntryError(file, name, 'expected ["what goes wrong", {what fails}]')
    smoke = str(fault.pop("smoke", SMOKE))
    if "name" in fault:
        raise MalformedEntryError(file, name, "fault: its name is that of the row")
    try:
        build(FaultSettings, fault, "fault")
    except SettingsError as error:
        raise MalformedEntryError(file, name, str(error)) from None
    part = file.split("/")[-2].replace("_", "-")
    return Row(f"{part}/{name}", tuple(requirements.split()), wrong, smoke, fault)


def _joined(file: str, name: str, tables: list[Mapping[str, Any]]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for table in tables:
        if twice := sorted(joined.keys() & table.keys()):
            raise MalformedEntryError(file, name, f"{twice[0]} is there twice")
        joined |= table
    return joined


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant, grouped by part: its patches, then its rows.

    Raises CatalogueError for an invalid row, and for a name that is used twice.
    """
    found: dict[str, Mutant] = {}
    for each in [*all_patches(), *load_rows()]:
        if each.name in found:
            raise DuplicateEntryError("mutants", each.name, "is there already")
        found[each.name] = each
    parts = list(dict.fromkeys(name.partition("/")[0] for name in found))
    return tuple(sorted(found.values(), key=lambda each: parts.index(each.name.partition("/")[0])))
