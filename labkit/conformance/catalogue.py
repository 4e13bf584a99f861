"""The catalogue: every statement of the documents, and the requirements that labkit derives from them.

An area's `statements.toml` (one file a document) lists the statements of the document; a part's `requirements.toml`
lists the requirements that are tested (`areas` finds both). Each statement has a requirement or a reason for none.
In a `requirements.toml`, `must` and `choice` (see Requirement) name the statements that a requirement derives from:

    retired = ["DEV-POLL-12"]
    parts.DEV-POLL = "long poll"

    DEV-POLL-1.must = ["1/endpoints/long-poll/1"]
    DEV-POLL-1.text = "One sentence."

The areas, and the files of an area, are ordered by the statements that their first requirements derive from.

LabkitError
├── CatalogueError               an invalid file: names the file and the entry
│   ├── MalformedEntryError      not TOML, an unknown or missing key, a wrong type, an id of another form
│   ├── DuplicateEntryError      an id or a reference occurs twice
│   ├── RetiredIdError           a retired id is used again
│   ├── MissingIdError           a number was skipped: its requirement was removed without being retired
│   ├── UnknownSourceError       a reference to a statement that no document has
│   ├── UncoveredStatementError  no requirement and no reason
│   └── NeedlessReasonError      a reason to have no requirement, and a requirement too
└── UnknownRequirementError      a lookup by an id or prefix that selects nothing
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StringConstraints, model_validator

from labkit.conformance import areas
from labkit.conformance.entries import (
    CatalogueError,
    DuplicateEntryError,
    EntryModel,
    MalformedEntryError,
    Sentence,
    parse,
    toml,
)
from labkit.core.errors import LabkitError, did_you_mean

Level = Literal["must", "choice"]


class RetiredIdError(CatalogueError):
    """A retired id, which may not be used again."""


class MissingIdError(CatalogueError):
    """A number below the highest of its part that is neither in use nor retired."""


class UnknownSourceError(CatalogueError):
    """A reference to a statement that no document has."""


class UncoveredStatementError(CatalogueError):
    """A statement that has neither a requirement nor a reason to have none."""


class NeedlessReasonError(CatalogueError):
    """A statement that is listed as having nothing to test, though a requirement tests it."""


class UnknownRequirementError(LabkitError):
    """No requirement has this id, or begins with this prefix."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a document.

    reference: section reference and item (`1/endpoints/write/3`); document, section: their titles; item: a
    bare number where the document numbers it, else `row-2`, `header-1` or `rule-1`; gist: its content, in our
    words; nothing_to_test: why no requirement tests it, if none does.
    """

    reference: str
    document: str
    section: str
    item: str
    gist: str
    nothing_to_test: str | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One testable sentence.

    id: `DEV-ALIAS-3` (area, part, number); level: `must` if the document says so, `choice` if it is silent and labkit
    decides; sources: references of statements; not_mutable: the reason why no fault of a server can break it, if any.
    """

    id: str
    level: Level
    sources: tuple[str, ...]
    text: str
    not_mutable: str | None = None

    @property
    def area(self) -> str:
        """The area of its id: `DEV` of `DEV-ALIAS-3`."""
        return self.id.split("-")[0]

    @property
    def part(self) -> str:
        """The part of its id: `DEV-ALIAS` of `DEV-ALIAS-3`."""
        return self.id.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All statements by reference, all requirements by id, both in the documents' order.

    parts: titles of the parts by the prefixes of their ids (`DEV-REC`: record).
    """

    statements: Mapping[str, Statement]
    requirements: Mapping[str, Requirement]
    retired: frozenset[str]
    parts: Mapping[str, str]

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements.values())

    def __getitem__(self, requirement_id: str) -> Requirement:
        """Return the requirement with this id. Raises UnknownRequirementError."""
        try:
            return self.requirements[requirement_id]
        except KeyError:
            raise UnknownRequirementError(f"no requirement {requirement_id!r}") from None

    def select(self, *prefixes: str) -> tuple[Requirement, ...]:
        """Return the requirements below any of the prefixes, in order: `DEV`, `DEV-ALIAS`, `DEV-ALIAS-3`; none: all.

        Raises UnknownRequirementError for a prefix that selects nothing, so that a misspelt one does not pass
        unnoticed.
        """
        if not prefixes:
            return tuple(self)
        for prefix in prefixes:
            if not any(is_below(each.id, prefix) for each in self):
                raise UnknownRequirementError(f"no requirement begins with {prefix!r}{self._similar(prefix)}")
        return tuple(each for each in self if any(is_below(each.id, prefix) for prefix in prefixes))

    def _similar(self, prefix: str) -> str:
        """Return the end of an error's text with the similar prefix, or the first parts of all ids."""
        known = dict.fromkeys("-".join(each.id.split("-")[:count]) for each in self for count in (1, 2, 3, 4))
        areas = dict.fromkeys(each.id.partition("-")[0] for each in self)
        return did_you_mean(prefix, known) or f", they begin with: {', '.join(areas)}"

    def below(self, *prefixes: str) -> Catalogue:
        """Return a catalogue of the requirements below the prefixes and their statements. Raises as `select` does."""
        return self.restricted({each.id for each in self.select(*prefixes)})

    def restricted(self, ids: Container[str]) -> Catalogue:
        """Return a catalogue of the requirements with these ids and their statements."""
        requirements = {each.id: each for each in self if each.id in ids}
        sources = {source for each in requirements.values() for source in each.sources}
        statements = {name: each for name, each in self.statements.items() if name in sources}
        return Catalogue(statements, requirements, self.retired, self.parts)

    def covering(self, reference: str) -> tuple[Requirement, ...]:
        """Return the requirements that have this statement among their sources."""
        return tuple(each for each in self if reference in each.sources)


def is_below(requirement_id: str, prefix: str) -> bool:
    """Return whether a requirement has a prefix, which is its id or ends before a hyphen of it."""
    return requirement_id == prefix or requirement_id.startswith(f"{prefix}-")


# --- the files ----------------------------------------------------------------------------------------------

Id = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9]*-[A-Z][A-Z0-9]*-[1-9][0-9]*$")]
Reference = Annotated[str, StringConstraints(pattern=r"^[1-9](/[a-z0-9-]+)+$")]
Item = Annotated[str, StringConstraints(pattern=r"^((row|header|rule)-)?[1-9][0-9]*$")]


class _Document(EntryModel):
    document: int
    title: Sentence
    section: dict[Reference, dict[str, Any]]
    nothing_to_test: dict[Reference, Sentence] = Field(default={})


class _Section(EntryModel):
    title: Sentence
    items: dict[Item, Sentence]


class PartFile(EntryModel):
    """Content of a `requirements.toml`."""

    retired: list[Id] = Field(default=[])
    parts: dict[str, Sentence] = Field(default={})
    requirement: list[dict[str, Any]] = Field(default=[])

    @model_validator(mode="before")
    @classmethod
    def _with_tables(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the content with the requirements in dotted keys before those in tables."""
        ids = [key for key, value in content.items() if isinstance(value, dict) and key != "parts"]
        tables = [_table(each, content.pop(each)) for each in ids]
        return {**content, "requirement": tables + content.get("requirement", [])} if ids else content


def _table(id: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the table of a requirement in dotted keys: the key of its sources is its level."""
    level = " and ".join(key for key in values if key not in ("text", "not_mutable"))
    sources = values.pop(level, [])
    return {**values, "id": id, "level": level, "sources": sources}


class RequirementEntry(EntryModel):
    """Values of a requirement in a file."""

    id: Id
    level: Level
    sources: Annotated[list[Reference], Field(min_length=1)]
    text: Sentence
    not_mutable: Sentence | None = None


M = TypeVar("M", bound=EntryModel)


def load(root: Traversable | None = None) -> Catalogue:
    """Read and validate the catalogue of this package, or of the folder `root`.

    Raises CatalogueError for the first error.
    """
    return _own() if root is None else _load(root)


@cache
def _own() -> Catalogue:
    """Return the catalogue of this package, cached: its files do not change, and reading them takes a while."""
    return _load(None)


def _load(root: Traversable | None) -> Catalogue:
    documents = _read(_Document, areas.statement_files(root))
    statements, file_of = _statements(documents)
    files = _read(PartFile, areas.requirement_files(root))
    retired = frozenset(each for file in files.values() for each in file.retired)
    found = {name: _requirements(name, file, statements) for name, file in files.items()}
    in_order = _in_order({name: own for name, own in found.items() if own}, statements)
    requirements: dict[str, Requirement] = {}
    for name in in_order:
        own = found[name]
        _no_gaps(name, {*files[name].retired, *(each.id for each in own)})
        for requirement in own:
            if requirement.id in retired:
                raise RetiredIdError(name, requirement.id, "is retired and may not be used again")
            if requirement.id in requirements:
                raise DuplicateEntryError(name, requirement.id, "is there already")
            requirements[requirement.id] = requirement
    tested = {source for requirement in requirements.values() for source in requirement.sources}
    for reference, reason in _reasons(documents, statements, tested).items():
        statements[reference] = replace(statements[reference], nothing_to_test=reason)
    for reference, statement in statements.items():
        if reference not in tested and statement.nothing_to_test is None:
            raise UncoveredStatementError(
                file_of[reference], reference, "has no requirement, nor a reason under nothing_to_test"
            )
    parts = {name: about for file in in_order for name, about in files[file].parts.items()}
    return Catalogue(
        MappingProxyType(statements), MappingProxyType(requirements), retired, MappingProxyType(parts)
    )


def _in_order(found: Mapping[str, list[Requirement]], statements: Iterable[str]) -> list[str]:
    """Return the file names in the order of the documents, grouped by area."""
    position = {reference: number for number, reference in enumerate(statements)}
    first = {name: position[own[0].sources[0]] for name, own in found.items()}
    begins: dict[str, int] = {}
    for name, number in first.items():
        area = name.partition("/")[0]
        begins[area] = min(number, begins.get(area, number))
    return sorted(found, key=lambda name: (begins[name.partition("/")[0]], first[name], name))


def _statements(documents: Mapping[str, _Document]) -> tuple[dict[str, Statement], dict[str, str]]:
    """Return the statements by reference in the documents' order, and the file of each."""
    statements: dict[str, Statement] = {}
    file_of: dict[str, str] = {}
    for name, document in sorted(documents.items(), key=lambda each: each[1].document):
        for place, values in document.section.items():
            section = parse(_Section, {"title": values.pop("title", ""), "items": values}, name, place)
            if not place.startswith(f"{document.document}/"):
                raise MalformedEntryError(name, place, f"expected a section of {document.document}/")
            for item, gist in section.items.items():
                reference = f"{place}/{item}"
                if reference in statements:
                    raise DuplicateEntryError(name, reference, "is there already")
                statements[reference] = Statement(reference, document.title, section.title, item, gist)
                file_of[reference] = name
    return statements, file_of


def _requirements(name: str, file: PartFile, statements: Mapping[str, Statement]) -> list[Requirement]:
    found: list[Requirement] = []
    for values in file.requirement:
        entry = parse(RequirementEntry, values, name, str(values.get("id", "an entry without id")))
        for source in entry.sources:
            if source not in statements:
                raise UnknownSourceError(name, entry.id, f"no statement {source!r}")
        found.append(Requirement(entry.id, entry.level, tuple(entry.sources), entry.text, entry.not_mutable))
    return found


def _no_gaps(name: str, ids: Set[str]) -> None:
    """Raise MissingIdError unless every number below the highest of a part is in use or retired."""
    for each in sorted(ids):
        part, _, number = each.rpartition("-")
        for lower in range(1, int(number)):
            if f"{part}-{lower}" not in ids:
                raise MissingIdError(name, f"{part}-{lower}", "is neither there nor retired")


def _reasons(
    documents: Mapping[str, _Document], statements: Container[str], tested: Container[str]
) -> dict[str, str]:
    """Return the reasons to test nothing, by the reference of the statement."""
    reasons: dict[str, str] = {}
    for name, document in documents.items():
        for statement, reason in document.nothing_to_test.items():
            if statement not in statements:
                raise UnknownSourceError(name, statement, "no such statement")
            if statement in tested:
                raise NeedlessReasonError(name, statement, "has a requirement that tests it")
            if statement in reasons:
                raise DuplicateEntryError(name, statement, "is there already")
            reasons[statement] = reason
    return reasons


def _read(model: type[M], files: Iterable[tuple[str, Traversable]]) -> dict[str, M]:
    """Return the parsed contents of files by their names."""
    return {name: parse(model, toml(name, file), name, "top level") for name, file in files}
