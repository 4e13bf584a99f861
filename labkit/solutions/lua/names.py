"""Reader of the names in a Lua script: globals that it reads and assigns, and fields of tables that it is given.

One linear pass over the syntax tree. No node is asked for its parent, which tree-sitter would search from the root.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest

from tree_sitter import Node

from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.lua.syntax import (
    INDEXING,
    KEPT,
    WORD,
    ScriptCall,
    is_value,
    keys,
    outermost_return,
    script_call,
    tree_of,
    usage,
)


def sharing_locals(module: ScriptSource) -> str:
    """Return the source of a module that makes its outermost local names global at its end.

    No line moves. A module that returns a value does so still.
    """
    names = sorted(usage(module).locals)
    if not names:
        return module.source
    shared = " ".join(f'if {name} ~= nil then rawset(_G, "{name}", {name}) end' for name in names)
    source = module.source.encode()
    at = outermost_return(module)
    if at is None:
        return f"{module.source}\n{shared}"
    return b" ".join((source[:at], shared.encode(), source[at:])).decode()


SCOPES = frozenset(
    {"block", "function_declaration", "function_definition", "for_statement", "repeat_statement"}
)
DECLARING = frozenset({"variable_declaration", "for_generic_clause", "for_numeric_clause"})  # at their end
DECLARATIONS = {"variable_declaration", "function_declaration", "assignment_statement", "comment"}
CONDITIONS = frozenset(
    {
        "if_statement",
        "elseif_statement",
        "while_statement",
        "repeat_statement",
        "parenthesized_expression",
    }
)

Fields = dict[tuple[str, str], int]
WRITTEN = {
    "bracket_index_expression": "[",
    "dot_index_expression": "[",
    "binary_expression": "=",
}  # see `literals`


@dataclass(slots=True)
class ScriptNames:
    """Names in a script, with the line of their first use.

    read: globals; asked: those where nil may be meant, as in conditions; got, put: fields of global tables that it
    reads and assigns, by table and field; checked: those that it reads where nil may be meant; passed: those that it
    uses otherwise than by `table.field.name`; bare: global tables that it uses otherwise than by `table.field`, such as
    those that it passes on; literals: `[` and the name or the index by which it reads a field, or `=` and the text with
    which it compares it, or `.` and the name of a field of a call's result, or `(` where a call of it is used as no
    table, or `assert` has a number as message; assigned: globals; locals: all its local names; required: those of
    modules; calls, methods: calls of functions in global tables by a local name of the table, as in `local K =
    Keystore`. is_whole: False if the parser does not know the script's syntax; only_declares: whether nothing outside
    of its functions is called or returned.
    """

    read: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    got: Fields = field(default_factory=dict)
    put: Fields = field(default_factory=dict)
    checked: set[tuple[str, str]] = field(default_factory=set)
    passed: set[tuple[str, str]] = field(default_factory=set)
    bare: set[str] = field(default_factory=set)
    literals: dict[tuple[str, str, str], int] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    locals: set[str] = field(default_factory=set)
    required: set[str] = field(default_factory=set)
    calls: list[ScriptCall] = field(default_factory=list)
    methods: list[ScriptCall] = field(default_factory=list)
    is_whole: bool = True
    only_declares: bool = False


@lru_cache(KEPT)
def names(script: ScriptSource) -> ScriptNames:
    """Return the names in a script. The result is shared: callers do not change it."""
    source = script.source.encode()
    root = tree_of(source)
    if root is None or root.has_error:  # each of its words may be what another script needs
        words = set(WORD.findall(script.source))
        return ScriptNames(bare=words, assigned=words, locals=words, is_whole=False)
    return _NameReader(script, source).read(root)


def all_calls(script: ScriptSource) -> list[ScriptCall]:
    """Return a script's calls of functions in global tables, also those by a local name of the table."""
    return [*usage(script).calls, *names(script).calls]


class _NameReader:
    """Reader of one syntax tree. A local name with a global's value stands for it while it is not assigned again."""

    def __init__(self, script: ScriptSource, source: bytes) -> None:
        self._script = script
        self._source = source
        self._names = ScriptNames()
        self._scopes: list[list[str]] = [[]]
        # By name, the global that it stands for in each scope that declares it, or an empty text.
        self._locals: dict[str, list[str]] = {}
        self._aliased: set[int] = set()  # places of names whose table gets a local name there
        self._typed: set[int] = set()  # places of arguments of `type`

    def read(self, root: Node) -> ScriptNames:
        self._names.only_declares = {each.type for each in root.named_children} <= DECLARATIONS
        waiting = [(root, root, True)]
        while waiting:
            node, parent, enters = waiting.pop()
            kind = node.type
            if not enters:
                self._leave(node, kind)
                continue
            self._enter(node, kind, parent)
            if (kind in SCOPES and not _is_body_of_repeat(kind, parent)) or kind in DECLARING:
                waiting.append((node, parent, False))
            waiting += [(each, node, True) for each in reversed(node.named_children)]
        return self._names

    def _enter(self, node: Node, kind: str, parent: Node) -> None:
        if kind in WRITTEN:
            self._literal(node, kind)
        if kind == "identifier":
            self._identifier(node, parent)
        elif kind == "dot_index_expression":
            self._field(node, parent)
        elif kind == "function_call":
            self._call(node)
        elif kind == "variable_declaration":
            for _, value in _assigned(node.named_children[0]):
                if value is not None and value.type == "identifier" and self._global(value):
                    self._aliased.add(value.start_byte)
        elif kind == "assignment_statement" and parent.type != "variable_declaration":
            self._assign(node)
        elif kind == "function_declaration":
            self._declare_function(node)
        if kind in SCOPES and not _is_body_of_repeat(kind, parent):
            self._scopes.append([])
            for each in _parameters(node):
                self._declare(self._text(each))

    def _leave(self, node: Node, kind: str) -> None:
        if kind in SCOPES:
            for local in self._scopes.pop():
                self._locals[local].pop()
        elif kind == "variable_declaration":  # at its end: in `local X = X`, the second is another one
            pairs = _assigned(node.named_children[0])
            globals = ["" if value is None else self._global(value) for _, value in pairs]
            for (name, value), meant in zip(pairs, globals, strict=True):
                if value is not None and self._calls(value) == "require":
                    self._names.required.add(self._text(name))
                self._declare(self._text(name), meant)
        else:
            first = node.named_children[0]
            for each_name in first.named_children if first.type == "variable_list" else [first]:
                self._declare(self._text(each_name))

    def _declare(self, name: str, meant: str = "") -> None:
        self._scopes[-1].append(name)
        self._locals.setdefault(name, []).append(meant)
        self._names.locals.add(name)

    def _declare_function(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None or name.type != "identifier":
            return
        if any(each.type == "local" for each in node.children):
            self._declare(self._text(name))
        else:
            self._names.assigned.add(self._text(name))

    def _assign(self, node: Node) -> None:
        for target, value in _assigned(node):
            name = self._text(target) if target.type == "identifier" else ""
            if meant := self._locals.get(name):
                self._names.bare.add(meant[-1])  # from here on it may be another table
                meant[-1] = ""
            elif name:
                self._names.assigned.add(name)
                for key in keys(value):
                    self._names.put.setdefault((name, self._text(key)), self._line(key))

    def _identifier(self, node: Node, parent: Node) -> None:
        kind = parent.type
        if not is_value(node, parent):
            return
        name, line = self._text(node), self._line(node)
        meant = self._global(node)
        if kind not in INDEXING and node.start_byte not in self._aliased and meant:
            self._names.bare.add(meant)
        if not self._locals.get(name):
            may_be_nil = self._may_be_nil(node, parent)
            (self._names.asked if may_be_nil else self._names.read).setdefault(name, line)

    def _field(self, node: Node, parent: Node) -> None:
        table, last = node.child_by_field_name("table"), node.child_by_field_name("field")
        if table is None or last is None or table.type != "identifier":
            return
        if name := self._global(table):
            is_target = parent.type in ("variable_list", "function_declaration")
            fields = self._names.put if is_target else self._names.got
            fields.setdefault(key := (name, self._text(last)), self._line(last))
            if parent.type not in INDEXING:
                self._names.passed.add(key)
            if not is_target and self._may_be_nil(node, parent):
                self._names.checked.add(key)

    def _literal(self, node: Node, kind: str) -> None:
        first, last = node.named_children[0], node.named_children[-1]
        operator = self._source[first.end_byte : last.start_byte].strip()
        if kind == "binary_expression" and operator not in (b"==", b"~="):
            return
        if kind == "dot_index_expression" and first.type == "function_call":
            self._note(first.child_by_field_name("name"), "." + self._text(last), node)
        for whole, literal in ((first, last), (last, first)):
            if literal.type in ("string", "number") or kind == "dot_index_expression":
                self._note(whole, WRITTEN[kind] + self._text(literal).strip("\"'"), node)
            elif literal.type == "nil":
                self._note(whole.child_by_field_name("name"), "(nil", node)

    def _note(self, field: Node | None, text: str, at: Node) -> None:
        table = field and field.type == "dot_index_expression" and field.child_by_field_name("table")
        if field and table and (name := self._global(table)):
            key = (name, self._text(field.named_children[-1]), text)
            self._names.literals.setdefault(key, self._line(at))

    def _call(self, node: Node) -> None:
        function, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return
        kinds = [each.type for each in arguments.named_children]
        if self._calls(node) == "assert" and len(kinds) == 2 and kinds[1] == "number":
            key = ("assert", self._text(arguments.named_children[1]), "(")
            self._names.literals.setdefault(key, self._line(node))
        if kinds[:1] == ["function_call"] and self._calls(node) in ("tonumber", "from_json"):
            self._note(arguments.named_children[0].child_by_field_name("name"), "(nil", node)
        if self._calls(node) == "type":
            self._typed.update(each.start_byte for each in arguments.named_children[:1])
        table = function.child_by_field_name("table") if function.type in INDEXING else None
        if table is None or table.type != "identifier" or not self._locals.get(self._text(table)):
            return
        if meant := self._global(table):
            operation = self._text(function.named_children[-1])
            line = self._line(function)
            call = script_call(meant, operation, arguments, self._source, self._script.file, line)
            is_method = function.type == "method_index_expression"
            (self._names.methods if is_method else self._names.calls).append(call)

    def _calls(self, node: Node) -> str:
        """Return the name of the global function that a node calls; empty for other nodes."""
        function = node.child_by_field_name("name") if node.type == "function_call" else None
        if function is None or function.type != "identifier" or self._locals.get(self._text(function)):
            return ""
        return self._text(function)

    def _global(self, node: Node) -> str:
        """Return the global that a name is, or for which a local name stands; empty for other nodes and local names."""
        name = self._text(node) if node.type == "identifier" else ""
        meant = self._locals.get(name)
        return meant[-1] if meant else name

    def _may_be_nil(self, node: Node, parent: Node) -> bool:
        """Return whether a value is a condition, an alternative, compared with nil, or the argument of `type`."""
        if parent.type == "unary_expression":
            return self._source[parent.start_byte : parent.start_byte + 1] != b"#"
        if parent.type in CONDITIONS or node.start_byte in self._typed:
            return True
        if parent.type != "binary_expression":
            return False
        left, right = parent.named_children[0], parent.named_children[-1]
        operator = self._source[left.end_byte : right.start_byte].strip()
        if operator == b"and":
            return left.start_byte == node.start_byte
        return operator == b"or" or (operator in (b"==", b"~=") and "nil" in (left.type, right.type))

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")

    def _line(self, node: Node) -> int:
        return self._script.line + node.start_point.row


def _is_body_of_repeat(kind: str, parent: Node) -> bool:
    """Return whether a block has no scope of its own: `until` sees its names."""
    return kind == "block" and parent.type == "repeat_statement"


def _parameters(node: Node) -> list[Node]:
    found = node.child_by_field_name("parameters")
    return [] if found is None else [each for each in found.named_children if each.type == "identifier"]


def _assigned(node: Node) -> list[tuple[Node, Node | None]]:
    """Return the targets of an assignment, or the names of a declaration, each with its value if it has one."""
    lists = node.named_children if node.type == "assignment_statement" else [node]
    targets = [each for each in lists[0].named_children if each.type != "attribute"]
    values = lists[1].named_children if len(lists) > 1 else []
    return list(zip_longest(targets, values[: len(targets)]))
