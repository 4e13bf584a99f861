"""YAML files, read with the line number of each key, for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import yaml

from labkit.core.errors import SettingsError, did_you_mean

NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
BOOLEAN, TEXT = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:str"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml needs a tenth of the time
LARGEST = 16 * 1024 * 1024  # bytes of a file
MOST_NODES = 200_000  # values and keys, with all aliases expanded
DEEPEST = 200  # levels of nested lists and tables
MOST_KEY_CHARACTERS = 32_000_000  # of the paths of all keys together
LONGEST_NUMBER = 1000  # characters: parsing a number in base 60 (with colons) takes quadratic time


# Problems of libyaml in other words. A tab has its own sentence.
PROBLEMS = {
    "mapping values are not allowed in this context": "a second ':' in one line; put the value in quotes",
    "found character that cannot start any token": "{found} cannot begin a value; put the value in quotes",
    "found undefined alias": "'*' begins an alias that no '&' defines; put a text in quotes",
    "did not find expected key": "expected a key at the indentation of the one above",
    "did not find expected '-' indicator": "expected an item that begins with '-', as those above",
    "did not find expected ',' or ']'": "a list without its ']', or without a ','",
    "did not find expected ',' or '}'": "a mapping without its '}', or without a ','",
    "found unexpected end of stream": "a text without its second quote",
    "could not find expected ':'": "a key without its ':'",
    "block sequence entries are not allowed in this context": "'-' begins an item, which needs a line of its own",
}
INDENTED = "expected the indentation of a key above"
UNSPACED = re.compile(r"[\s-]*([\w-]{1,40}:)(?=[^\s:])")  # a key with its ':', and no space after that
OPENING = {"}": "{", "]": "["}


def read_yaml(file: Path, repeated: list[str] | None = None) -> tuple[Any, dict[str, int]]:
    """Return the data of a YAML file ({} if empty), and the line of each key, for `build`.

    repeated: gets a sentence about each key that is given twice, of which YAML uses the second; without this list,
    such a key is an error. Raises SettingsError, also for a file that is too large once its aliases are expanded.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        meant = did_you_mean(file.name, [each.name for each in file.parent.glob("*.yaml")])
        raise SettingsError(f"{file}: cannot be read: {error.strerror or error}{meant}") from None
    return parse_yaml(data, str(file), repeated)


def parse_yaml(data: bytes, file: str, repeated: list[str] | None = None) -> tuple[Any, dict[str, int]]:
    """Return the data in the bytes of a YAML file as `read_yaml` does. file: its name in errors."""
    if len(data) > LARGEST:
        raise SettingsError(f"{file}: is too large, expected at most {LARGEST} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: cannot be read: {error}") from None
    try:
        _check_events(text)
        loader = LOADER(text)
        try:
            node = loader.get_single_node()
            _check_size(node)
            found = _Lines().collect(node)  # before values are made, which writes merged keys into the nodes
            values = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise SettingsError(f"{file}: {_problem(error, text)}") from None
    except _TooLarge as error:
        raise SettingsError(f"{file}: {error}") from None
    except (ValueError, RecursionError) as error:  # an invalid date; too many nested brackets
        raise SettingsError(f"{file}: cannot be read: {error}") from None
    if repeated is not None:
        repeated += found.repeated
    elif found.repeated:
        raise SettingsError("; ".join(found.repeated), found.repeated)
    return ({} if values is None else values), found.lines


def _problem(error: yaml.YAMLError, text: str) -> str:
    """Return what is wrong in a text that is no YAML, or has several documents, with its line."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f"is not YAML: {str(error).partition(chr(10))[0]}"
    line, column, problem = error.problem_mark.line, error.problem_mark.column, error.problem or ""
    context = error.context_mark or error.problem_mark
    above, here = ["", *text.splitlines(), "", ""][line : line + 2]
    found = here[column : column + 1]
    said, at = PROBLEMS.get(problem, problem), line
    if problem == "but found another document":
        return f"has more than one document: expected nothing after this '---' (line {line + 1})"
    if found == "\t":
        said = "a tab; indent with spaces"
    elif found in OPENING and "flow" not in (error.context or ""):
        said = f"a {found!r} without its {OPENING[found]!r}"
    elif problem == "did not find expected node content" and error.context == "while parsing a flow node":
        said, at = "a list or mapping without its ']' or '}'", min(line, text.rstrip().count("\n"))
    elif problem.startswith("mapping values") and ": " not in here[:column]:
        said = INDENTED
        if _indent(here) <= _indent(above):
            said, at = "a key without its ':', which a space follows", line - 1
    elif problem == "could not find expected ':'":
        at = context.line
    elif "'-' indicator" in problem and column > context.column:
        said = INDENTED
    elif " without " in said:
        at = context.line
    if said.startswith("a key without") and (key := UNSPACED.match(text.splitlines()[at])):
        said = f"expected a space after the ':' of {key[1]!r}"
    return f"is not YAML: {said.replace('{found}', repr(found))} (line {at + 1})"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class _TooLarge(Exception):
    """Raised for a document that would need too much time or memory. The text is the end of the error message."""


def _check_events(text: str) -> None:
    """Raise _TooLarge for a document that must not be parsed into nodes.

    libyaml makes them by recursion, without a limit on the stack.
    """
    depth = nodes = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            nodes += 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            if depth > DEEPEST:
                raise _TooLarge(f"is nested more than {DEEPEST} levels deep{_line(event)}")
            if nodes > MOST_NODES:
                raise _TooLarge(f"is too large: more than {MOST_NODES} values{_line(event)}")


def _check_size(node: yaml.Node | None) -> None:
    """Raise _TooLarge for a document of more than MOST_NODES nodes, with every alias expanded.

    Aliases share nodes, so each node is counted once and its size is remembered.
    """
    sizes: dict[yaml.Node, int | None] = {}  # None: being counted

    def size(node: yaml.Node) -> int:
        if node in sizes:
            known = sizes[node]
            if known is None:
                raise _TooLarge(f"an anchor holds itself{_line(node)}")
            return known
        sizes[node] = None
        total = 1
        for part in _parts(node):
            total += size(part)
            if total > MOST_NODES:
                raise _TooLarge(
                    f"is too large: more than {MOST_NODES} values, each alias counted as all that it repeats"
                    f"{_line(part)}"
                )
        sizes[node] = total
        return total

    if node is not None:
        size(node)


def _parts(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield name
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif node.tag in NUMBERS and len(node.value) > LONGEST_NUMBER:
        raise _TooLarge(f"a number has more than {LONGEST_NUMBER} characters{_line(node)}")


def _line(node: yaml.Node | yaml.Event) -> str:
    mark = node.start_mark
    return f" (line {mark.line + 1})" if mark else ""


class _Lines:
    """Line numbers of the keys of a YAML document: `products[0].auth` → 1-based line.

    repeated: a sentence about each key that is given twice.
    """

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.repeated: list[str] = []
        self._characters = 0

    def collect(self, node: yaml.Node | None) -> Self:
        """Add the keys of a document."""
        self._add(node, "")
        return self

    def _add(self, node: yaml.Node | None, key: str) -> None:
        if isinstance(node, yaml.MappingNode):
            names: set[str] = set()
            for name, value in node.value:
                if not isinstance(name, yaml.ScalarNode):  # a list or a table, which YAML itself rejects
                    continue
                if name.tag == BOOLEAN:  # of `ON: 1`, which means the text
                    name.tag = TEXT
                inner = f"{key}.{name.value}" if key else str(name.value)
                self._keep(inner, name)
                if name.value in names:
                    self.repeated.append(f"{inner}: is given twice{_line(name)}")
                names.add(name.value)
                self._add(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                if value.tag == BOOLEAN and value.value.lower() not in ("true", "false"):
                    value.tag = TEXT  # in `[on, off]`, which means the texts
                inner = f"{key}[{index}]"
                self._keep(inner, value)
                self._add(value, inner)

    def _keep(self, key: str, node: yaml.Node) -> None:
        self._characters += len(key)
        if self._characters > MOST_KEY_CHARACTERS:
            raise _TooLarge(f"is too large: its keys are too long, and hold too much{_line(node)}")
        self.lines[key] = node.start_mark.line + 1
