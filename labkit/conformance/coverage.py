"""What proves what: statements of the documents, their requirements, and the checks and mutants of those."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from labkit.conformance.catalogue import Catalogue, Requirement, Statement, load
from labkit.conformance.check import Check, all_checks
from labkit.conformance.mutant import Mutant
from labkit.conformance.rows import all_mutants

P = TypeVar("P", Check, Mutant)  # what proves requirements


@dataclass(frozen=True, slots=True)
class Covered:
    """A requirement, the checks that speak for it, and the faults that they are proved with."""

    requirement: Requirement
    checks: tuple[Check, ...]
    mutants: tuple[Mutant, ...]

    @property
    def id(self) -> str:
        return self.requirement.id

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
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
        """The requirements below any of the prefixes; all without one. Raises UnknownRequirementError."""
        return tuple(self.covered[each.id] for each in self.catalogue.select(*prefixes))

    def below(self, prefix: str) -> Coverage:
        """The part of it that speaks of the requirements below a prefix. Raises UnknownRequirementError."""
        catalogue = self.catalogue.below(prefix)
        checks = [each for each in self.checks if catalogue.requirements.keys() & each.requirements]
        mutants = [each for each in self.mutants if catalogue.requirements.keys() & each.requirements]
        return cover(catalogue, checks, mutants)

    def of(self, statement: Statement) -> tuple[Covered, ...]:
        """The requirements made of a statement."""
        return tuple(self.covered[each.id] for each in self.catalogue.covering(statement.reference))

    @property
    def not_mutable(self) -> tuple[Covered, ...]:
        """No fault of a server can break these; each has its reason."""
        return tuple(each for each in self if each.requirement.not_mutable is not None)

    @property
    def choices(self) -> tuple[Covered, ...]:
        """Where the documents are silent, and labkit decides."""
        return tuple(each for each in self if each.requirement.level == "choice")

    @property
    def unchecked(self) -> tuple[Covered, ...]:
        """Requirements that no check speaks for."""
        return tuple(each for each in self if not each.checks)

    @property
    def unproved(self) -> tuple[Covered, ...]:
        """Requirements of level `must` that no mutant breaks, though one could."""
        return tuple(
            each
            for each in self
            if each.requirement.level == "must" and not each.mutants and each.requirement.not_mutable is None
        )

    @property
    def strangers(self) -> tuple[str, ...]:
        """Checks and mutants that name a requirement which is not in the catalogue."""
        named = [(each.name, each.requirements) for each in self.checks]
        named += [(each.name, each.requirements) for each in self.mutants]
        known = self.catalogue.requirements
        return tuple(f"{name}: {wanted}" for name, ids in named for wanted in ids if wanted not in known)

    def counts(self) -> dict[str, int]:
        """How many there are of everything."""
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
        """Counts, and what is open, as plain data for JSON."""
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
        """Every statement with its requirements, their checks and mutants, as plain data for JSON."""
        return [
            {
                "reference": each.reference,
                "document": each.document,
                "section": each.section,
                "item": each.item,
                "text": each.gist,
                "requirements": [covered.as_dict() for covered in self.of(each)],
                "nothing_to_test": each.nothing_to_test,
            }
            for each in self.catalogue.statements.values()
        ]


def cover(catalogue: Catalogue, checks: Iterable[Check], mutants: Iterable[Mutant]) -> Coverage:
    """Put the three together."""
    all_of, faults = tuple(in_order(checks, catalogue)), tuple(mutants)
    check_of, fault_of = _by_requirement(all_of), _by_requirement(faults)
    covered = {
        each.id: Covered(each, tuple(check_of[each.id]), tuple(fault_of[each.id])) for each in catalogue
    }
    return Coverage(catalogue, all_of, faults, covered)


def _by_requirement(all_of: Iterable[P]) -> defaultdict[str, list[P]]:
    """What proves each requirement, by its id."""
    found: defaultdict[str, list[P]] = defaultdict(list)
    for each in all_of:
        for id in dict.fromkeys(each.requirements):
            found[id].append(each)
    return found


def in_order(checks: Iterable[Check], catalogue: Catalogue) -> list[Check]:
    """Checks in the order of the requirements that they name first, which is that of the documents."""
    position = {each.id: number for number, each in enumerate(catalogue)}
    return sorted(checks, key=lambda check: position.get(check.requirements[0], len(position)))


def coverage() -> Coverage:
    """The coverage of this labkit."""
    return cover(load(), all_checks(), all_mutants())
