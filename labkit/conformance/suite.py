"""The requirements and checks of a run: those of this package, and those of one's own folders beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labkit.conformance.catalogue import Catalogue, load
from labkit.conformance.check import Check, all_checks
from labkit.conformance.coverage import Coverage, Covered, cover, coverage
from labkit.conformance.own import Folders, read_own

NOTHING = cover(Catalogue({}, {}, frozenset(), {}), (), ())


@dataclass(frozen=True, slots=True)
class Suite:
    """The coverage of this package, and that of one's own folders."""

    package: Coverage
    own: Coverage = NOTHING

    def __iter__(self) -> Iterator[Covered]:
        yield from self.package
        yield from self.own

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks."""
        return (*self.package.checks, *self.own.checks)

    @property
    def catalogue(self) -> Catalogue:
        """All requirements, and the statements from which they derive."""
        return _joined(self.package.catalogue, self.own.catalogue)

    def below(self, *prefixes: str) -> Suite:
        """Return the requirements below any of the prefixes with their checks; all if there is none.

        Raises UnknownRequirementError.
        """
        if not prefixes:
            return self
        ids = {each.id for each in self.catalogue.select(*prefixes)}
        return Suite(self.package.restricted(ids), self.own.restricted(ids))


def suite(folders: Folders = ()) -> Suite:
    """Return the requirements of this package and of folders. Raises CatalogueError for a wrong folder."""
    own = read_own(folders)
    return Suite(coverage(), own)


def known(folders: Folders = ()) -> tuple[Catalogue, list[Check]]:
    """Return the requirements and the checks of this package and of folders, without mutants, which take a while.

    Raises CatalogueError for a wrong folder.
    """
    own = read_own(folders)
    return _joined(load(), own.catalogue), [*all_checks(), *own.checks]


def _joined(package: Catalogue, own: Catalogue) -> Catalogue:
    if not own.requirements:
        return package
    return Catalogue(
        {**package.statements, **own.statements},
        {**package.requirements, **own.requirements},
        package.retired,
        {**package.parts, **own.parts},
    )
