"""Reference of the requirements: each with its sentence, the statements it comes from, and its checks."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.conformance.coverage import Covered, coverage
from labkit.reference.entry import ReferenceEntry, ReferencePage, prose

INTRO = """What the documents say, as requirements that checks test. The level `must` is a statement of the documents;
`choice` is a decision of labkit where they are silent. `labkit report --only` takes the beginning of an id."""


def pages() -> Iterator[ReferencePage]:
    """Yield a page for each part of the documents."""
    parts: dict[str, list[ReferenceEntry]] = {}
    for each in coverage():
        parts.setdefault(each.id.rpartition("-")[0], []).append(
            ReferenceEntry("requirement", each.id, _body(each))
        )
    for part, entries in parts.items():
        yield ReferencePage(
            f"reference/requirements/{part.lower()}", f"Requirements {part}", INTRO, tuple(entries)
        )


def _body(covered: Covered) -> str:
    requirement = covered.requirement
    lines = [
        prose(requirement.text),
        "",
        f"- Level: {requirement.level}",
        f"- Source: {', '.join(requirement.sources)}",
        *(f"- Check `{each.name}`: {prose(each.title)}" for each in covered.checks),
    ]
    if requirement.not_mutable is None:
        lines.append(f"- Mutants that its checks find: {len(covered.mutants)}")
    else:
        lines.append(f"- Without a mutant: {prose(requirement.not_mutable)}")
    return "\n".join(lines)
