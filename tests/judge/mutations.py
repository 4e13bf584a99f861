"""Mutations that cosmic-ray would make in the serving code, and the sample drawn from them.

Each place of the code (a comparison, a number, a condition …) has the same chance, whatever the number of ways to
change it: otherwise the twelve replacements of each `+`, nearly all of which fail at once, would be most of a sample.
The draw uses a hash of the seed and of the mutation's text, so that a change of the code affects only its own draws.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from labkit.core.errors import LabkitError
from tests.judge.left_out import Position, Span, left_out
from tests.judge.pieces import piece_of

FOLDERS = (
    "core",
    "device_api",
    "devices",
    "edge",
    "labtime",
    "providers",
    "services",
    "solutions",
    "storage",
)
# Parts of the folders that are left out, with the reason: no check could notice a change there.
LEFT_OUT: Mapping[str, str] = {
    "core/progress.py": "what those see who wait",
    "core/slow.py": "what the speed of a machine decides",
    "storage/copies.py": "lab.sql: for those who look into a lab, not for its clients",
    "core/extras.py": "what is said where a library is not installed",
    "core/interrupts.py": "how a terminal verb ends",
    "core/journal.py": "what people read of a lab",
    "core/lined_yaml.py": "lab.yaml, which is read before there is a platform",
    "core/marks.py": "what charts show",
    "core/process.py": "speed and memory alone",
    "storage/selects.py": "lab.sql: for those who look into a lab, not for its clients",
    "solutions/lua/": "the interpreter of scripts, which has comparisons with Lua's own of its own",
}
_PLAIN = {"name", "string", "newline", "endmarker", "fstring_start", "fstring_string", "fstring_end"}
_BRACKETS = {"(", ")", "[", "]", "{", "}", ",", ".", ":", ";", "="}
_NOT_USED = {"RemoveDecorator"}  # decorators are left out, so are operators that need arguments


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: its qualified name, its first line (of a decorator, if it has any), and its body's."""

    name: str
    line: int
    body: range


class Key(NamedTuple):
    """Identity of a mutation, which does not depend on its line.

    module: its path in labkit, `device_api/alias.py`; function: the qualified name of the outermost function whose body
    contains it, empty outside of all; operator: cosmic-ray's; code: the changed piece (pieces.py); nth: its number
    among mutations that are equal in all this, from 0.
    """

    module: str
    function: str
    operator: str
    code: str
    nth: int


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of one module.

    occurrence: its number for the operator in the module, as cosmic-ray counts; at: line and column; lines: those of
    the statement, or of the head of a compound one; function: the outermost one that contains it.
    """

    key: Key
    occurrence: int
    at: Position
    lines: tuple[int, ...]
    function: Function | None

    @property
    def module(self) -> str:
        return self.key.module

    @property
    def operator(self) -> str:
        return self.key.operator

    @property
    def id(self) -> str:
        """An id that is stable while the changed code stays in the same function."""
        return _hash(*self.key)[:8]

    def mutated(self) -> str:
        """Return the module's source with the change."""
        from cosmic_ray.mutating import mutate_code

        found = mutate_code(source_of(self.module), operators()[self.operator](), self.occurrence)
        if found is None:
            raise LabkitError(
                f"judge: {self.module}: {self.operator}: there is no occurrence {self.occurrence}"
            )
        return str(found)

    def diff(self) -> str:
        """Return the change as a diff of a line or two."""
        compared = difflib.unified_diff(
            source_of(self.module).splitlines(), self.mutated().splitlines(), lineterm="", n=0
        )
        changed = [each for each in compared if not each.startswith(("---", "+++", "@@"))]
        return "\n".join([f"{self.id} {self.module}:{self.at[0]} {self.operator}", *changed])


def home() -> Path:
    """Return the folder of labkit."""
    return Path(str(files("labkit")))


@cache
def source_of(module: str) -> str:
    """Return the source of a module."""
    return (home() / module).read_text(encoding="utf-8")


@cache
def operators() -> dict[str, Any]:
    """Return cosmic-ray's operators, by name. Raises LabkitError without cosmic-ray."""
    try:
        from cosmic_ray.operators.provider import OperatorProvider
    except ImportError:
        raise LabkitError("judge: cosmic-ray is not installed: it comes with labkit[judge]") from None
    provider = OperatorProvider()
    found = {name: provider[name] for name in provider if name not in _NOT_USED}
    return {name: each for name, each in found.items() if not each.arguments()}


def modules_of(folder: str) -> list[str]:
    """Return the modules of a folder."""
    paths = sorted(path.relative_to(home()).as_posix() for path in (home() / folder).rglob("*.py"))
    return [each for each in paths if not each.startswith(tuple(LEFT_OUT))]


@cache
def mutations_of(module: str) -> tuple[Mutation, ...]:
    """Return all mutations of a module by cosmic-ray, except the ones that are left out."""
    return tuple(each for name in operators() for each in mutations_by(name, module))


@cache
def mutations_by(operator: str, module: str) -> tuple[Mutation, ...]:
    """Return the mutations of a module by one operator."""
    read = _read(source_of(module))
    kind = operators()[operator]()
    found = []
    alike: Counter[tuple[str, str]] = Counter()
    places = (place for node in read.nodes for place in kind.mutation_positions(node))
    for occurrence, (at, end) in enumerate(places):
        if any(at in each for each in read.skipped):
            continue
        function = next((each for each in read.functions if at[0] in each.body), None)
        name, code = function.name if function else "", read.piece(at, end)
        key = Key(module, name, operator, code, alike[name, code])
        found.append(Mutation(key, occurrence, at, read.statements.get(at[0], (at[0],)), function))
        alike[name, code] += 1
    return tuple(found)


@dataclass(frozen=True)
class _Source:
    """The parsed source of a module, shared by all operators. nodes: the nodes that operators visit."""

    tree: ast.Module
    lines: list[str]
    skipped: list[Span]
    statements: dict[int, tuple[int, ...]]
    functions: list[Function]
    nodes: list[Any]
    pieces: dict[tuple[Position, Position], str] = field(default_factory=dict)

    def piece(self, start: Position, end: Position) -> str:
        """Return the piece of code around a change; many operators change the same place."""
        if (start, end) not in self.pieces:
            self.pieces[start, end] = piece_of(self.tree, self.lines, start, end)
        return self.pieces[start, end]


@cache
def _read(source: str) -> _Source:
    from cosmic_ray.ast import ast_nodes, get_ast

    tree = ast.parse(source)
    nodes = [each for each in ast_nodes(get_ast(source)) if not _is_plain(each)]
    lines = source.splitlines(keepends=True)
    return _Source(tree, lines, left_out(source), _statements(tree), list(_functions(tree.body)), nodes)


def _is_plain(node: Any) -> bool:
    """Return whether no operator changes a node, such as a name, text or bracket; these are skipped to save time."""
    return node.type in _PLAIN or (node.type == "operator" and node.value in _BRACKETS)


def drawn(modules: Iterable[str], seed: int) -> Iterator[Mutation]:
    """Return one mutation for each place of the modules, in the order of the draw."""
    places: dict[tuple[str, Position], Mutation] = {}
    for module in modules:
        for each in mutations_of(module):
            other = places.get((module, each.at))
            if other is None or _rank(each, seed) < _rank(other, seed):
                places[module, each.at] = each
    yield from sorted(places.values(), key=lambda each: _rank(each, seed))


def _rank(mutation: Mutation, seed: int) -> str:
    return _hash(seed, *mutation.key)


def _hash(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _functions(body: Iterable[ast.stmt], above: str = "") -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = range(_first_line(node.body[0]), (node.end_lineno or node.lineno) + 1)
            yield Function(above + node.name, _first_line(node), lines)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{above}{node.name}.")


def _statements(tree: ast.Module) -> dict[int, tuple[int, ...]]:
    """Return, by line, the lines of the innermost statement there; for a compound one the lines of its head."""
    found: dict[int, tuple[int, ...]] = {}
    for node in ast.walk(tree):  # outer statements come first
        if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            continue
        first = _first_line(node)
        body = getattr(node, "body", None)
        end = getattr(node, "end_lineno", None) or first
        last = max(first, _first_line(body[0]) - 1) if body else end
        for line in range(first, last + 1):
            found[line] = tuple(range(first, last + 1))
    return found


def _first_line(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])
