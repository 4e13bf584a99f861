"""Code that the mutation tool leaves out: it is for readers and type checkers, and does not serve."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

Position = tuple[int, int]  # a line, from 1, and a column, from 0, in characters
_OF_TYPES = ("TypeVar", "ParamSpec", "NewType", "TypeAliasType")
_OF_COLUMNS = ("info", "index")  # columns of SQLAlchemy's tables: for readers of the tables, and for speed


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a source, from one position up to another, which it does not include."""

    start: Position
    end: Position

    def __contains__(self, position: Position) -> bool:
        return self.start <= position < self.end


def left_out(source: str) -> list[Span]:
    """Return annotations, decorators, docstrings, `__all__`, `if TYPE_CHECKING`, type aliases, overloads, `cast`s.

    Of the columns of tables also `info`, `index` and `nullable=False`, which refuses values that labkit never writes.
    """
    lines = source.splitlines(keepends=True)
    tree = ast.parse(source)
    found = [*_of_module(tree)]
    for node in ast.walk(tree):
        found += _of_node(node)
    return [_span(node, lines) for node in found]


def _of_module(tree: ast.Module) -> Iterator[ast.AST]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "__all__" or (_is_camel(name) and _is_type(node.value)):
                yield node


def _of_node(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from node.decorator_list
        if any(_named(each) == "overload" for each in node.decorator_list):
            yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.AnnAssign) and _named(node.annotation) == "TypeAlias":
        yield node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # a docstring, or ...
        yield node
    if isinstance(node, ast.If) and _named(node.test) == "TYPE_CHECKING":
        yield node
    if isinstance(node, ast.Call) and _named(node.func) == "cast" and node.args:
        yield node.args[0]
    if isinstance(node, ast.Call) and _named(node.func) in _OF_TYPES:
        yield node
    if isinstance(node, ast.Call) and _named(node.func) == "Column":
        yield from (each.value for each in node.keywords if _is_about_a_column(each))


def _is_about_a_column(keyword: ast.keyword) -> bool:
    never = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
    return keyword.arg in _OF_COLUMNS or (keyword.arg == "nullable" and never)


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_camel(name: str) -> bool:
    return name.lstrip("_")[:1].isupper() and not name.isupper()


def _is_type(node: ast.expr) -> bool:
    """Return whether a node may be a type, such as `Mapping[str, int] | None`."""
    kinds = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load)
    return all(
        isinstance(each, kinds)
        or (
            isinstance(each, ast.Constant) and (each.value is None or isinstance(each.value, str | type(...)))
        )
        for each in ast.walk(node)
    )


def _span(node: ast.AST, lines: list[str]) -> Span:
    return Span(position_of(node, lines), position_of(node, lines, end=True))


def position_of(node: ast.AST, lines: list[str], *, end: bool = False) -> Position:
    """Return the beginning or end of a node: Python counts the bytes of a line, and cosmic-ray its characters."""
    line, column = (node.end_lineno, node.end_col_offset) if end else (node.lineno, node.col_offset)  # type: ignore[attr-defined]
    return line, len(lines[line - 1].encode()[:column].decode())
