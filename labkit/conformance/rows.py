"""Fault rows: mutants that one of the lab's faults says, in `faults.toml` of each part, beside its requirements.

    [no-challenge]                                   # the row's name: `authentication/no-challenge`
    requirements = "DEV-AUTH-10"                     # ids separated by spaces
    wrong = "a 401 has no WWW-Authenticate"          # what goes wrong, as one sentence
    fault = {where = "* /*", product = "*", if_status = 401, headers = {WWW-Authenticate = ""}}

fault: what `lab.faults.add` takes (labkit.settings.faults): where it hits, what it does, whom. smoke: another smoke
check than that of all, where the fault breaks that one.

All rows of an area are played on one lab, one after the other: the fault is added, checks of each of the row's
requirements are played until one tells, then the smoke check, and the fault is taken out. So a row is cheap, and has
to leave the lab as it was: what a lab remembers is changed by a patch instead (mutant.py). A row whose fault was never
hit proves nothing and is broken, as is one whose checks fail without the fault, too.

What an author needs to know:
- A fault changes what is asked (`when = "before"` with `edit`, `replace`, `put`, `drop`) or what is answered. Whether
  something is stored, counted or raised twice it cannot say.
- `where` is for all sites, solutions or scripts that have such a path or operation; `product`, `solution` and `site`
  narrow it. A check's own set-up meets the fault, too: if it cannot be made then, the row is broken. `if_given`,
  `if_answer` and `if_status` keep a fault off what is not meant.
- An edit that makes no difference is no hit.
- Answers of 204 and 304 have no body, and headers that frame cannot be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources.abc import Traversable
from typing import Any

from labkit.conformance import areas
from labkit.conformance.entries import (
    DuplicateEntryError,
    EntryModel,
    MalformedEntryError,
    Sentence,
    parse,
    toml,
)
from labkit.conformance.mutant import SMOKE, Mutant, Row, all_patches
from labkit.core.errors import SettingsError
from labkit.settings import FaultSettings, build


class _Row(EntryModel):
    requirements: Sentence
    wrong: Sentence
    fault: dict[str, Any]
    smoke: Sentence = SMOKE


def load_rows(root: Traversable | None = None) -> list[Row]:
    """The rows of all parts, in the order of the files and of the lines in them.

    root: a folder of areas, instead of this package. Raises CatalogueError for the first thing that is wrong, with its
    file and row.
    """
    return [
        _row(file, name, values)
        for file, content in areas.fault_files(root)
        for name, values in toml(file, content).items()
    ]


def _row(file: str, name: str, values: Any) -> Row:
    if not isinstance(values, Mapping):
        raise MalformedEntryError(file, name, "expected a table [name] with requirements, wrong and fault")
    entry = parse(_Row, values, file, name)
    if "name" in entry.fault:
        raise MalformedEntryError(file, name, "fault: its name is that of the row")
    try:
        build(FaultSettings, entry.fault, "fault")
    except SettingsError as error:
        raise MalformedEntryError(file, name, str(error)) from None
    part = file.split("/")[-2].replace("_", "-")
    return Row(f"{part}/{name}", tuple(entry.requirements.split()), entry.wrong, entry.smoke, entry.fault)


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Every mutant, part by part: its patches, then its rows. Raises CatalogueError as `load_rows` does, and where two
    have one name.
    """
    found: dict[str, Mutant] = {}
    for each in [*all_patches(), *load_rows()]:
        if each.name in found:
            raise DuplicateEntryError("mutants", each.name, "is there already")
        found[each.name] = each
    parts = list(dict.fromkeys(name.partition("/")[0] for name in found))
    return tuple(sorted(found.values(), key=lambda each: parts.index(each.name.partition("/")[0])))
