"""Traceability: the statements of the documents, their requirements, and the checks and mutants of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from labkit.conformance.catalogue import Catalogue, Requirement, Statement, load
from labkit.conformance.check import Check, all_checks
from labkit.conformance.mutant import Mutant
from labkit.conformance.rows import all_mutants

P = TypeVar("P", Check, Mutant)  # both name the requirements that they prove


@dataclass(frozen=True, slots=True)
class Covered:
    """A requirement, the checks that test it, and the mutants that prove these checks."""

    requirement: Requirement
    checks: tuple[Check, ...]
    mutants: tuple[Mutant, ...]

    @property
    def id(self) -> str:
        """The id of the requirement."""
        return self.requirement.id

    def as_dict(self) -> dict[str, Any]:
        """Return the requirement with its checks and mutants as plain data, for JSON."""
        return {
            "id": self.id,
            "level": self.requirement.level,
            "text": self.requirement.text,
            "sources": list(self.requirement.sources),
            "checks": [{"name": each.name, "title": each.title} for each in self.checks],
            "mutants": [{"name": each.name, "title": each.title, **each.breaks()} for each in self.mutants],
            "not_mutable": self.requirement.not_mutable,
        }


@dataclass(frozen=True, slots=True)
class Coverage:
    """The catalogue with all checks and mutants. covered: by requirement id, in the catalogue's order."""

    catalogue: Catalogue
    checks: tuple[Check, ...]
    mutants: tuple[Mutant, ...]
    covered: Mapping[str, Covered]

    def __iter__(self) -> Iterator[Covered]:
        return iter(self.covered.values())

    def select(self, *prefixes: str) -> tuple[Covered, ...]:
        """Return the requirements below any of the prefixes; all if there is none. Raises UnknownRequirementError."""
        return tuple(self.covered[each.id] for each in self.catalogue.select(*prefixes))

    def below(self, prefix: str) -> Coverage:
        """Return the coverage restricted to the requirements below a prefix. Raises UnknownRequirementError."""
        return self.restricted({each.id for each in self.catalogue.select(prefix)})

    def restricted(self, ids: Container[str]) -> Coverage:
        """Return the coverage of the requirements with these ids."""
        catalogue = self.catalogue.restricted(ids)
        checks = [each for each in self.checks if catalogue.requirements.keys() & each.requirements]
        mutants = [each for each in self.mutants if catalogue.requirements.keys() & each.requirements]
        return cover(catalogue, checks, mutants)

    def requirements_of(self, statement: Statement) -> tuple[Covered, ...]:
        """Return the requirements derived from a statement."""
        return tuple(self.covered[each.id] for each in self.catalogue.covering(statement.reference))

    @property
    def not_mutable(self) -> tuple[Covered, ...]:
        """The requirements that no fault of a server can break; each has its reason."""
        return tuple(each for each in self if each.requirement.not_mutable is not None)

    @property
    def choices(self) -> tuple[Covered, ...]:
        """The requirements of level `choice`: the documents are silent, and labkit decides."""
        return tuple(each for each in self if each.requirement.level == "choice")

    @property
    def unchecked(self) -> tuple[Covered, ...]:
        """The requirements without a check."""
        return tuple(each for each in self if not each.checks)

    @property
    def unproved(self) -> tuple[Covered, ...]:
        """The requirements of level `must` that a mutant could break, but none does."""
        return tuple(
            each
            for each in self
            if each.requirement.level == "must" and not each.mutants and each.requirement.not_mutable is None
        )

    @property
    def unknown_requirements(self) -> tuple[str, ...]:
        """The checks and mutants that name a requirement which is not in the catalogue, as `check: id`."""
        named = [(each.name, each.requirements) for each in self.checks]
        named += [(each.name, each.requirements) for each in self.mutants]
        known = self.catalogue.requirements
        return tuple(f"{name}: {wanted}" for name, ids in named for wanted in ids if wanted not in known)

    def counts(self) -> dict[str, int]:
        """Return the number of statements, requirements, checks and mutants, in total and per kind."""
        statements = self.catalogue.statements.values()
        untested = sum(each.nothing_to_test is not None for each in statements)
        must = len(self.covered) - len(self.choices)
        return {
            "statements": len(statements),
            "statements with nothing to test": untested,
            "requirements": len(self.covered),
            "requirements of level must": must,
            "requirements of level choice": len(self.choices),
            "requirements without check": len(self.unchecked),
            "checks": len(self.checks),
            "mutants": len(self.mutants),
            "must requirements with a mutant": must - len(self.unproved) - len(self._fixed_musts()),
            "must requirements that are not mutable": len(self._fixed_musts()),
            "must requirements without mutant": len(self.unproved),
        }

    def _fixed_musts(self) -> list[Covered]:
        return [each for each in self.not_mutable if each.requirement.level == "must" and not each.mutants]

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and the gaps as plain data, for JSON."""
        return {
            "counts": self.counts(),
            "not_mutable": {each.id: each.requirement.not_mutable for each in self.not_mutable},
            "choices": {each.id: each.requirement.text for each in self.choices},
            "nothing_to_test": {
                each.reference: each.nothing_to_test
                for each in self.catalogue.statements.values()
                if each.nothing_to_test is not None
            },
            "unchecked": [each.id for each in self.unchecked],
            "unproved": [each.id for each in self.unproved],
        }

    def statements(self) -> list[dict[str, Any]]:
        """Return every statement with its requirements, their checks and mutants, as plain data for JSON."""
        return [
            {
                "reference": each.reference,
                "document": each.document,
                "section": each.section,
                "item": each.item,
                "text": each.gist,
                "requirements": [covered.as_dict() for covered in self.requirements_of(each)],
                "nothing_to_test": each.nothing_to_test,
            }
            for each in self.catalogue.statements.values()
        ]


def cover(catalogue: Catalogue, checks: Iterable[Check], mutants: Iterable[Mutant]) -> Coverage:
    """Return the coverage of a catalogue by checks and mutants."""
    all_of, faults = tuple(in_order(checks, catalogue)), tuple(mutants)
    check_of, fault_of = _by_requirement(all_of), _by_requirement(faults)
    covered = {
        each.id: Covered(each, tuple(check_of[each.id]), tuple(fault_of[each.id])) for each in catalogue
    }
    return Coverage(catalogue, all_of, faults, covered)


def _by_requirement(all_of: Iterable[P]) -> defaultdict[str, list[P]]:
    """Return the checks or mutants of each requirement, by its id."""
    found: defaultdict[str, list[P]] = defaultdict(list)
    for each in all_of:
        for id in dict.fromkeys(each.requirements):
            found[id].append(each)
    return found


def in_order(checks: Iterable[Check], catalogue: Catalogue) -> list[Check]:
    """Return checks in the documents' order, by the requirement that each names first."""
    position = {each.id: number for number, each in enumerate(catalogue)}
    return sorted(checks, key=lambda check: position.get(check.requirements[0], len(position)))


def coverage() -> Coverage:
    """Return the coverage of this labkit."""
    return cover(load(), all_checks(), all_mutants())
