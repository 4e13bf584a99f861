"""The piece of code that a mutation changes, as text that is independent of its line and formatting."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.judge.left_out import Position, position_of

_Piece = ast.stmt | ast.ExceptHandler | ast.expr | ast.keyword
_TOO_SMALL = (
    ast.Constant,
    ast.Name,
    ast.Starred,
    ast.Slice,
)  # pieces that say too little, or are no code alone
_HEADS = ("test", "iter", "subject", "type")  # heads of compound statements


def piece_of(tree: ast.Module, lines: list[str], start: Position, end: Position) -> str:
    """Return the smallest expression or keyword argument around a change, larger than a name or a constant.

    If there is none it is the simple statement, or the expression at the head of a compound one. lines: of the
    source; start, end: of the change.
    """
    path = [*_path(tree, lines, start, end)]
    node = [each for each in path if not isinstance(each, _TOO_SMALL)][-1]
    if not isinstance(node, ast.expr):
        heads = (getattr(node, name, None) for name in _HEADS)
        node = next(filter(None, heads), path[-1] if hasattr(node, "body") else node)
    return normalized(ast.unparse(node))


@cache
def normalized(code: str) -> str:
    """Return a piece of code in any formatting as `piece_of` returns it."""
    return ast.unparse(ast.parse(code))


def _path(node: ast.AST, lines: list[str], start: Position, end: Position) -> Iterator[_Piece]:
    """Yield all possible pieces around a change, the outermost first. An f-string counts as a whole."""
    for child in ast.iter_child_nodes(node):
        if not hasattr(
            child, "lineno"
        ):  # for example a function's arguments, or the `for` of a comprehension
            yield from _path(child, lines, start, end)
        elif position_of(child, lines) <= start and end <= position_of(child, lines, end=True):
            if isinstance(child, _Piece):
                yield child
            if not isinstance(child, ast.JoinedStr):
                yield from _path(child, lines, start, end)
