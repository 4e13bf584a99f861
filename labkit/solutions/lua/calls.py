"""Calls of service operations in the text of scripts, for warnings about operations that do not exist."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from labkit.solutions.scripts import ScriptSource

TOKEN = re.compile(
    r"""
    (?P<skipped>\s+|--\[(?P<comment>=*)\[.*?\](?P=comment)\]|--[^\n]*)
    |(?P<string>\[(?P<long>=*)\[.*?\](?P=long)\]|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<other>\.\.\.|\.\.|[=~<>]=|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class ScriptCall(NamedTuple):
    """A call `service.operation(…)` in a script."""

    service: str
    operation: str
    file: str
    line: int


def unknown_calls(
    scripts: Iterable[ScriptSource], services: Mapping[str, Container[str]]
) -> Iterator[ScriptCall]:
    """Yield the calls of operations that the services do not have.

    services: operations by service. A service that the scripts use otherwise than by `Name.operation`, such as one that
    they pass on or assign, is left out, since they may have added the operation themselves.
    """
    calls: list[ScriptCall] = []
    changed: set[str] = set()
    added: set[tuple[str, str]] = set()
    for script in scripts:
        tokens = [*_tokens(script), *[("end", "", 0)] * 3]
        before = ""
        for index, (kind, text, line) in enumerate(tokens[:-3]):
            (_, dot, _), (_, operation, _), (after, mark, _) = tokens[index + 1 : index + 4]
            if kind == "string" and text.strip("\"'") in services:
                changed.add(text.strip("\"'"))
            elif kind == "name" and text in services and before not in (".", ":"):
                if dot != ".":
                    changed.add(text)
                elif mark == "=" or before == "function":
                    added.add((text, operation))
                elif mark in ("(", "{") or after == "string":
                    calls.append(ScriptCall(text, operation, script.file, line))
            elif kind == "name" and text in services and dot == "=":
                changed.add(text)
            before = text
    for each in calls:
        known = each.operation in services[each.service] or (each.service, each.operation) in added
        if not known and each.service not in changed:
            yield each


def _tokens(script: ScriptSource) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and line of each token, without spaces and comments."""
    line = script.line
    for found in TOKEN.finditer(script.source):
        if found.lastgroup != "skipped":
            yield found.lastgroup or "", found[0], line
        line += found[0].count("\n")
