"""Reader of what a Lua script uses: calls of services, modules and globals, found in its syntax tree.

The tree is that of tree-sitter, which reads past errors of syntax, in quadratic time. So of a long script that LuaJIT
does not compile, only words are read. Whether a script is valid says the compiler.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from tree_sitter import Language, Node, Parser
from tree_sitter_lua import language

from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.runtime import compiles

KEPT = 500  # scripts whose findings are kept: most labs of a process have the same ones
SCOPES = frozenset({"block", "function_declaration", "function_definition", "for_statement"})
NAMING = frozenset(
    {"variable_list", "parameters", "function_declaration", "goto_statement", "label_statement", "attribute"}
)
LEFT = SCOPES | {
    "variable_declaration",
    "for_generic_clause",
    "for_numeric_clause",
    "arguments",
}  # noted at their end, too
INDEXING = frozenset({"dot_index_expression", "method_index_expression"})
WORD = re.compile(r"[A-Za-z_]\w*")
REQUIRED = re.compile(r"\brequire[\s(]*[\"']([^\"']+)")
SHORT = 2000  # bytes of a script that is parsed in any case
UNKNOWN = re.compile(
    rb"(?<![.:\w])goto\s*[^\s\w]|\0"
)  # LuaJIT compiles them: a variable `goto`, and the character NUL
MOST_UNKNOWN = 10
ALIASES = ("murano", "services")  # scripts reach a service as `murano.services.<name>`, too


class ScriptCall(NamedTuple):
    """A call `service.operation{argument = …}` in a script.

    arguments: those with a name, in their order; values: those of them that are literals, as the service gets them;
    is_whole: whether it has no others, as far as the script shows.
    """

    service: str
    operation: str
    arguments: tuple[str, ...]
    file: str
    line: int
    values: tuple[tuple[str, object], ...] = ()
    is_whole: bool = False


class NamePlace(NamedTuple):
    """A name in a script."""

    name: str
    file: str
    line: int


@dataclass(slots=True)
class Usage:
    """Names and calls that a script uses.

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
    root = tree_of(source := script.source.encode())
    return _words(script) if root is None else _Reader(script, source).read(root)


def outermost_return(script: ScriptSource) -> int | None:
    """Return the position in bytes at which the return statement of a whole script begins; None without one."""
    root = tree_of(script.source.encode())
    children = () if root is None else root.named_children
    return next((each.start_byte for each in children if each.type == "return_statement"), None)


@cache
def _parser() -> Parser:
    return Parser(Language(language()))


def tree_of(source: bytes) -> Node | None:
    """Return the root of a script's tree; None for a long one that does not compile, or that the parser cannot read."""
    if len(source) > SHORT and (not compiles(source) or len(UNKNOWN.findall(source)) > MOST_UNKNOWN):
        return None
    return _parser().parse(source).root_node


def _words(script: ScriptSource) -> Usage:
    """Return what a script without a tree may use, so that its error does not cause findings about other scripts."""
    found = Usage(named=set(WORD.findall(script.source)))
    for number, line in enumerate(script.source.split("\n"), script.line):
        found.required += [NamePlace(name, script.file, number) for name in REQUIRED.findall(line)]
    return found


class _Reader:
    """Reader of one syntax tree, which keeps the local names of the scopes around the current node."""

    def __init__(self, script: ScriptSource, source: bytes) -> None:
        self._script = script
        self._source = source
        self._usage = Usage()
        self._scopes: list[set[str]] = [set()]
        self._locals: Counter[str] = Counter()  # number of scopes that have the name
        self._requires = 0  # calls of `require` around the current node

    def read(self, root: Node) -> Usage:
        waiting: list[tuple[Node, Node, bool]] = [
            (root, root, True)
        ]  # no recursion, since scripts nest deeply
        while waiting:
            node, parent, enters = waiting.pop()
            kind = node.type
            if enters:
                self._enter(node, kind, parent)
                if kind in LEFT:
                    waiting.append((node, parent, False))
                waiting += [(each, node, True) for each in reversed(node.named_children)]
            else:
                self._leave(node, kind, parent)
        self._usage.locals |= self._scopes[0]
        return self._usage

    def _enter(self, node: Node, kind: str, parent: Node) -> None:
        """Note what a node uses. Node.parent and its siblings are searched for from the root, so they are not used."""
        if kind == "identifier":
            self._identifier(node, parent)
        elif kind == "string_content":
            self._usage.named.add(self._text(node))
            if self._requires:
                self._usage.required.append(self._place(node))
        elif kind == "field":
            name = node.child_by_field_name("name")
            self._usage.named |= set() if name is None else self._names(name)
        elif kind == "function_call":
            self._call(node)
        elif kind == "arguments":
            self._requires += self._is_require(parent)
        elif kind == "assignment_statement":
            if parent.type != "variable_declaration":
                self._assign(node)
        elif kind == "parameters":
            self._declare(self._names(node))
        elif kind == "function_declaration":
            self._declare_function(node)
        if kind in SCOPES:
            self._scopes.append(set())

    def _leave(self, node: Node, kind: str, parent: Node) -> None:
        if kind in SCOPES:
            self._locals.subtract(self._scopes.pop())
        elif kind == "variable_declaration":  # at its end: in `local X = X`, the second is another one
            for each in node.named_children:
                self._declare(
                    self._names(each.named_children[0] if each.type == "assignment_statement" else each)
                )
        elif kind == "for_generic_clause":
            self._declare(self._names(node.named_children[0]))
        elif kind == "for_numeric_clause":
            self._declare(self._names(node))
        elif kind == "arguments":
            self._requires -= self._is_require(parent)

    def _declare(self, names: set[str]) -> None:
        """Add local names to the innermost scope."""
        self._locals.update(names - self._scopes[-1])
        self._scopes[-1] |= names

    def _declare_function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        if any(each.type == "local" for each in node.children):
            self._declare({self._text(name)})
        else:
            self._write(name)

    def _assign(self, node: Node) -> None:
        for target in node.named_children[0].named_children:
            self._write(target)

    def _write(self, target: Node) -> None:
        """Note that a script assigns a global, or a field of a table."""
        if not self._is_local(target):
            last = target.child_by_field_name("field")
            self._usage.named.add(self._text(target if last is None else last))
        if target.type == "identifier":
            if not self._is_local(target):
                self._usage.written.append(self._place(target))
        elif path := self._path(target):
            self._usage.added.add((path[0], path[1]))

    def _call(self, node: Node) -> None:
        name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        if name is None or arguments is None:
            return
        if name.type == "method_index_expression":
            self._method(name)
        elif path := self._path(name):
            call = script_call(*path, arguments, self._source, self._script.file, self._line(name))
            self._usage.calls.append(call)

    def _method(self, name: Node) -> None:
        table, method = name.child_by_field_name("table"), name.child_by_field_name("method")
        if (
            table is not None
            and method is not None
            and table.type == "identifier"
            and not self._is_local(table)
        ):
            line = self._line(name)
            self._usage.methods.append(
                ScriptCall(self._text(table), self._text(method), (), self._script.file, line)
            )

    def _path(self, node: Node) -> tuple[str, str] | None:
        """Return a global table and the name in it, if a node is `global.name`; `murano.services.x` is x."""
        if node.type == "bracket_index_expression":
            return None
        table, last = node.child_by_field_name("table"), node.child_by_field_name("field")
        if table is None or last is None:
            return None
        if table.type == "identifier":
            return None if self._is_local(table) else (self._text(table), self._text(last))
        inner, service = table.child_by_field_name("table"), table.child_by_field_name("field")
        if inner is None or service is None:
            return None
        first = inner.child_by_field_name("table")
        if first is not None and first.type == "identifier" and self._path(inner) == ALIASES:
            return self._text(service), self._text(last)
        return None

    def _identifier(self, node: Node, parent: Node) -> None:
        if not is_value(node, parent) or self._is_local(node):
            return
        self._usage.globals.add(self._text(node))

    def _is_local(self, node: Node) -> bool:
        return node.type == "identifier" and self._locals[self._text(node)] > 0

    def _is_require(self, call: Node) -> bool:
        """Return whether a call is one of the global function `require`."""
        name = call.child_by_field_name("name")
        return (
            name is not None
            and name.type == "identifier"
            and self._text(name) == "require"
            and not self._is_local(name)
        )

    def _names(self, node: Node) -> set[str]:
        """Return the identifiers that are children of a node, or the one that it is."""
        return {self._text(each) for each in (node, *node.named_children) if each.type == "identifier"}

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")

    def _place(self, node: Node) -> NamePlace:
        return NamePlace(self._text(node), self._script.file, self._line(node))

    def _line(self, node: Node) -> int:
        return self._script.line + node.start_point.row


def keys(table: Node | None) -> Iterator[Node]:
    """Yield the keys that are names in a table constructor; none for another node."""
    if table is not None and table.type == "table_constructor":
        for each in table.named_children:
            key = each.child_by_field_name("name")
            if key is not None and key.type == "identifier" and key.start_byte == each.start_byte:
                yield key


def script_call(
    service: str, operation: str, arguments: Node, source: bytes, file: str, line: int
) -> ScriptCall:
    """Return a call with what its arguments show."""
    table = next(iter(arguments.named_children), None)
    fields = [] if table is None else [each for each in table.named_children if each.type == "field"]
    names = {source[key.start_byte : key.end_byte].decode(errors="replace"): key for key in keys(table)}
    values = {}
    for each in fields:
        name, value = each.child_by_field_name("name"), each.child_by_field_name("value")
        if name is not None and value is not None and (found := _literal(value, source)) is not None:
            values[source[name.start_byte : name.end_byte].decode(errors="replace")] = found
    values = {name: value for name, value in values.items() if name in names}
    is_whole = table is None or (table.type == "table_constructor" and len(fields) == len(names))
    return ScriptCall(service, operation, tuple(names), file, line, tuple(values.items()), is_whole)


def _literal(node: Node, source: bytes) -> str | float | bool | None:
    """Return the value of a number, true, false or a text without escapes; None for anything else."""
    text = source[node.start_byte : node.end_byte].decode(errors="replace")
    if node.type in ("true", "false"):
        return node.type == "true"
    if node.type == "number":
        with suppress(ValueError):
            return int(text) if text.isdigit() else float(text)
    if node.type == "string" and text[:1] in "\"'" and "\\" not in text:
        return text[1:-1]
    return None


def is_value(node: Node, parent: Node) -> bool:
    """Return whether an identifier is read, rather than a name in a table, a declaration or an assignment."""
    kind, begins = parent.type, node.start_byte == parent.start_byte
    if kind in INDEXING:
        return begins
    if kind == "field":  # `name = value`, `[value] = value` or `value`
        return not begins or node.end_byte == parent.end_byte
    if kind == "for_numeric_clause":
        return not begins
    return kind not in NAMING
