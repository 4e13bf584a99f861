"""Types of what scripts find, as a file that LuaLS reads, the language server of Lua for editors."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module

from labkit.control.services import ParameterInfo, described
from labkit.reference.services import argument_texts, event_name, platform, raised
from labkit.services.operation import Operation
from labkit.services.timeseries.service import TEXTS
from labkit.solutions.checking.shapes import event_words, shapes
from labkit.solutions.lua.globals import script_globals

HEAD = """---@meta
-- What labkit gives to a solution's scripts; written by `labkit docs --lua-types`, and never run.
"""
RETURNS = "---@return any # its result, or the error object {type, error, status, status_code}"
NAMES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "None": "nil",
    "object": "any",
    "Any": "any",
}
WORD = re.compile(r"(?<![\w\"])(" + "|".join(NAMES) + r")(?![\w\":])")


def text() -> str:
    """Return the file: services with their operations, events' arguments, and globals that are not Lua's own."""
    parts = [HEAD, *_given(), *_globals()]
    for service in platform().services:
        parts.append(_comment(inspect.getdoc(type(service)) or "") + f"\n{service.name} = {{}}\n")
        parts += [_operation(each) for each in service.operations.values()]
    return "\n".join(parts)


def _operation(operation: Operation) -> str:
    name = f"{operation.service}.{operation.name}"
    texts, parameters = argument_texts(operation), described(operation).parameters
    lines = [f"---@class {name}.arguments"]
    lines += [_field(each, texts.get(each.name, "")) for each in parameters]
    lines += ["---@field [string] any"] if operation.collects else []
    need = "" if any(each.required for each in parameters) else "?"
    text = " | string" if (operation.service, operation.name) in TEXTS else ""
    given = [
        f"---@param arguments{need} {name}.arguments{text}",
        RETURNS,
        f"function {name}(arguments) end\n",
    ]
    return "\n".join([*lines, "", _comment(operation.doc), *given])


def _field(parameter: ParameterInfo, text: str) -> str:
    kind = lua_type(parameter.type)
    return f"---@field {parameter.name}{'' if parameter.required else '?'} {kind} {' '.join(text.split())}".rstrip()


def lua_type(name: str) -> str:
    """Return the type of LuaLS for the name of an argument's type."""
    name = re.sub(r"Literal\[([^]]*)\]", lambda found: '"' + found[1].replace(", ", '" | "') + '"', name)
    name = re.sub(r"\{([^}]*)\}", lambda found: "{ " + found[1].replace(",", ": any,") + ": any }", name)
    name = re.sub(r"list\[([^]]*)\]", r"(\1)[]", name)
    name = re.sub(r"dict\[([^,]*), (.*)\]", r"table<\1, \2>", name)
    return re.sub(r"\((\w+)\)\[\]", r"\1[]", WORD.sub(lambda found: NAMES[found[1]], name))


def _given() -> Iterator[str]:
    """Yield a class for each table that a script may get, and the globals of these names."""
    kinds: dict[str, list[str]] = {}
    for name, fields in shapes()["tables"].items():
        kinds.setdefault(name, []).append(name)
        yield _class(name, "", fields)
    for kind in raised():
        known, name = event_words()[event_name(kind)], ".".join(re.findall(r"\w+", event_name(kind)))
        yield _class(name, known["when"], known.get("fields", {}))
        for each in kind.arguments:
            kinds.setdefault(each, []).append(name)
    yield "\n".join(f"---@type {' | '.join(each)}\n{name} = nil\n" for name, each in kinds.items())


def _class(name: str, text: str, fields: Mapping[str, str]) -> str:
    lines = [f"---@field {key} any {each}" for key, each in fields.items()] or ["---@field [string] any"]
    return "\n".join([*([_comment(text)] if text else []), f"---@class {name}", *lines, ""])


def _globals() -> Iterator[str]:
    own = set(import_module("lupa.luajit21").LuaRuntime().globals())
    for name, members in asyncio.run(script_globals()).items():
        if name not in own:
            yield f"{name} = {{}}" if members else f"function {name}(...) end"
            yield "\n".join(f"function {name}.{each}(...) end" for each in members)


def _comment(doc: str) -> str:
    return "\n".join(f"--- {line}".rstrip() for line in inspect.cleandoc(doc).splitlines())
