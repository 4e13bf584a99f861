"""The names that a cell defines, and those that it needs from the cells before it."""

from __future__ import annotations

import ast
from typing import Self

from nbformat import NotebookNode

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class CellNames(ast.NodeVisitor):
    """Names of a cell, in the order in which Python evaluates it. Names that functions and loops keep do not count."""

    def __init__(self) -> None:
        self.defined: set[str] = set()
        self.needed: set[str] = set()
        self._later: set[str] = set()  # that functions need, which may be called after the cell's last line

    @classmethod
    def of(cls, cell: NotebookNode) -> Self:
        """Return the names of a cell; none of text, or of a magic of IPython."""
        names = cls()
        try:
            names.visit(ast.parse(cell.source))
        except SyntaxError:
            return cls()
        names.needed |= names._later - names.defined
        return names

    def visit(self, node: ast.AST) -> None:
        """Note the names of a node and of all within it."""
        if isinstance(node, ast.Name):
            self._name(node.id, isinstance(node.ctx, ast.Store))
        elif isinstance(node, ast.AugAssign):
            self.visit(node.value)
            for name in _names(node.target):
                self._name(name, False)
            self.visit(node.target)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr):
            self._in_order(node.value, *(node.targets if isinstance(node, ast.Assign) else (node.target,)))
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._in_order(node.iter, node.target, *node.body, *node.orelse)
        elif isinstance(node, ast.alias):
            self.defined.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, Function):
            self._later |= _loaded(node)
            if not isinstance(node, ast.Lambda):
                self._in_order(*node.decorator_list)
                self.defined.add(node.name)
        elif isinstance(node, Comprehension):
            self.needed |= _loaded(node) - self.defined
        else:
            self.generic_visit(node)

    def _in_order(self, *nodes: ast.AST | None) -> None:
        for each in nodes:
            if each is not None:
                self.visit(each)

    def _name(self, name: str, stored: bool) -> None:
        if stored:
            self.defined.add(name)
        elif name not in self.defined:
            self.needed.add(name)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _loaded(node: ast.AST) -> set[str]:
    """Return the names that a function or a comprehension uses from outside."""
    inside = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    loaded: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            (inside if isinstance(each.ctx, ast.Store) else loaded).add(each.id)
    return loaded - inside
