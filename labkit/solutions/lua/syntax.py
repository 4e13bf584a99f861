"""Reader of what a Lua script uses: calls of services, modules and globals, found in its syntax tree.

The tree is that of tree-sitter, which reads past errors of syntax. Whether a script is valid says LuaJIT's compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser
from tree_sitter_lua import language

from labkit.solutions.scripts import ScriptSource

KEPT = 500  # scripts whose findings are kept: most labs of a process have the same ones
SCOPES = frozenset({"block", "function_declaration", "function_definition", "for_statement"})
NAMING = frozenset(
    {"variable_list", "parameters", "function_declaration", "goto_statement", "label_statement", "attribute"}
)
INDEXING = frozenset({"dot_index_expression", "method_index_expression"})
ALIASES = ("murano", "services")  # scripts reach a service as `murano.services.<name>`, too


class ScriptCall(NamedTuple):
    """A call `service.operation{argument = …}` in a script. arguments: those with a name, in their order."""

    service: str
    operation: str
    arguments: tuple[str, ...]
    file: str
    line: int


class NamePlace(NamedTuple):
    """A name in a script."""

    name: str
    file: str
    line: int


@dataclass(slots=True)
class Usage:
    """What a script uses.

    calls: of functions in global tables; globals: names that it reads; written: globals that it assigns; added: names
    that it puts into a global table, as (table, name); methods: calls of functions in global tables with a colon;
    named: its literal texts, and the names that it assigns or gives in tables; required: modules by name; locals: names
    of its outermost scope.
    """

    calls: list[ScriptCall] = field(default_factory=list)
    methods: list[ScriptCall] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    written: list[NamePlace] = field(default_factory=list)
    added: set[tuple[str, str]] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    required: list[NamePlace] = field(default_factory=list)
    locals: set[str] = field(default_factory=set)


@lru_cache(KEPT)
def usage(script: ScriptSource) -> Usage:
    """Return what a script uses. The result is shared: callers do not change it."""
    tree = _parser().parse(script.source.encode())
    return _Reader(script).read(tree.root_node)


def outermost_return(script: ScriptSource) -> int | None:
    """Return the position in bytes at which the return statement of a whole script begins; None without one."""
    root = _parser().parse(script.source.encode()).root_node
    return next((each.start_byte for each in root.named_children if each.type == "return_statement"), None)


def tree_of(source: bytes) -> Node | None:
    """Return the root of a script's tree."""
    return _parser().parse(source).root_node


@cache
def _parser() -> Parser:
    return Parser(Language(language()))


class _Reader:
    """Reader of one syntax tree, which keeps the local names of the scopes around the current node."""

    def __init__(self, script: ScriptSource) -> None:
        self._script = script
        self._usage = Usage()
        self._scopes: list[set[str]] = [set()]

    def read(self, root: Node) -> Usage:
        for node, enters in _walk(root):
            if enters:
                self._enter(node)
            else:
                self._leave(node)
        self._usage.locals |= self._scopes[0]
        return self._usage

    def _enter(self, node: Node) -> None:
        kind = node.type
        if kind == "function_declaration":
            self._declare_function(node)
        if kind in SCOPES:
            self._scopes.append(set())
        if kind == "parameters":
            self._scopes[-1].update(_names(node))
        elif kind == "assignment_statement" and not _is_local(node):
            self._assign(node)
        elif kind == "function_call":
            self._call(node)
        elif kind == "identifier":
            self._identifier(node)
        elif kind == "string_content":
            self._usage.named.add(_text(node))
        elif kind == "field":
            name = node.child_by_field_name("name")
            self._usage.named |= set() if name is None else _names(name)

    def _leave(self, node: Node) -> None:
        kind = node.type
        if kind in SCOPES:
            self._scopes.pop()
        elif kind == "variable_declaration":  # at its end: in `local X = X`, the second is another one
            for each in node.named_children:
                self._scopes[-1].update(
                    _names(each.named_children[0] if each.type == "assignment_statement" else each)
                )
        elif kind == "for_generic_clause":
            self._scopes[-1].update(_names(node.named_children[0]))
        elif kind == "for_numeric_clause":
            self._scopes[-1].update(_names(node))

    def _declare_function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        if any(each.type == "local" for each in node.children):
            self._scopes[-1].add(_text(name))
        else:
            self._write(name)

    def _assign(self, node: Node) -> None:
        for target in node.named_children[0].named_children:
            self._write(target)

    def _write(self, target: Node) -> None:
        """Note that a script assigns a global, or a field of a table."""
        if not self._is_local(target):
            last = target.child_by_field_name("field")
            self._usage.named.add(_text(target if last is None else last))
        if target.type == "identifier":
            if not self._is_local(target):
                self._usage.written.append(NamePlace(_text(target), self._script.file, self._line(target)))
        elif path := self._path(target):
            self._usage.added.add((path[0], path[1]))

    def _call(self, node: Node) -> None:
        name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        if name is None or arguments is None:
            return
        if name.type == "identifier" and _text(name) == "require" and not self._is_local(name):
            self._usage.required += [
                NamePlace(_text(each), self._script.file, self._line(each))
                for each in _inside(arguments)
                if each.type == "string_content"
            ]
        elif name.type == "method_index_expression":
            self._method(name)
        elif path := self._path(name):
            named = tuple(dict.fromkeys(_fields(arguments)))
            self._usage.calls.append(ScriptCall(*path, named, self._script.file, self._line(name)))

    def _method(self, name: Node) -> None:
        table, method = name.child_by_field_name("table"), name.child_by_field_name("method")
        if (
            table is not None
            and method is not None
            and table.type == "identifier"
            and not self._is_local(table)
        ):
            line = self._line(name)
            self._usage.methods.append(ScriptCall(_text(table), _text(method), (), self._script.file, line))

    def _path(self, node: Node) -> tuple[str, str] | None:
        """Return a global table and the name in it, if a node is `global.name`; `murano.services.x` is x."""
        if node.type == "bracket_index_expression":
            return None
        table, last = node.child_by_field_name("table"), node.child_by_field_name("field")
        if table is None or last is None:
            return None
        if table.type == "identifier":
            return None if self._is_local(table) else (_text(table), _text(last))
        inner, service = table.child_by_field_name("table"), table.child_by_field_name("field")
        if inner is not None and service is not None and self._path(inner) == ALIASES:
            return _text(service), _text(last)
        return None

    def _identifier(self, node: Node) -> None:
        parent = node.parent
        if parent is None or not _is_value(node, parent) or self._is_local(node):
            return
        self._usage.globals.add(_text(node))

    def _is_local(self, node: Node) -> bool:
        name = _text(node)
        return any(name in scope for scope in self._scopes)

    def _line(self, node: Node) -> int:
        return self._script.line + node.start_point.row


def _walk(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield each named node when it begins (True) and when it ends; without recursion, since scripts nest deeply."""
    waiting: list[tuple[Node, bool]] = [(root, True)]
    while waiting:
        node, enters = waiting.pop()
        yield node, enters
        if enters:
            waiting.append((node, False))
            waiting += [(each, True) for each in reversed(node.named_children)]


def _is_value(node: Node, parent: Node) -> bool:
    """Return whether an identifier is read, rather than a name in a table, a declaration or an assignment."""
    kind = parent.type
    if kind in INDEXING:
        return parent.child_by_field_name("table") == node
    if kind == "field":  # `name = value`, or `[value] = value`
        return node.prev_sibling is not None
    if kind == "for_numeric_clause":
        return parent.child_by_field_name("name") != node
    return kind not in NAMING


def _is_local(assignment: Node) -> bool:
    return assignment.parent is not None and assignment.parent.type == "variable_declaration"


def _names(node: Node) -> set[str]:
    """Return the identifiers that are children of a node, or the one that it is."""
    return {_text(each) for each in (node, *node.named_children) if each.type == "identifier"}


def _fields(arguments: Node) -> Iterator[str]:
    """Yield the named keys of the table that is the only argument of a call."""
    for table in arguments.named_children[:1]:
        for each in table.named_children if table.type == "table_constructor" else ():
            name = each.child_by_field_name("name")
            if name is not None and name.type == "identifier" and name.prev_sibling is None:
                yield _text(name)


def _inside(node: Node) -> Iterator[Node]:
    return (each for each, enters in _walk(node) if enters)


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
