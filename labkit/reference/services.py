"""Reference of the services that scripts call: their operations, and the events that solutions handle."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from labkit.control.services import ParameterInfo, described
from labkit.labtime.events import EventKind
from labkit.platform import Platform
from labkit.reference.entry import ReferenceEntry, ReferencePage, bullets, code, explained, prose
from labkit.services.operation import Operation, Service
from labkit.services.registry import words
from labkit.solutions.checking.shapes import event_words

OTHERS = "…"  # stands for the arguments of any name that some operations accept
STATUS = re.compile(rf"\b(?:{'|'.join(str(int(each)) for each in HTTPStatus if each >= 400)})\b")


@cache
def platform() -> Platform:
    """Return a platform that is only described here, never started."""
    return Platform()


def pages() -> Iterator[ReferencePage]:
    """Yield a page for each service, and one for all events."""
    for service in platform().services:
        intro = prose(inspect.getdoc(type(service)) or "")
        yield ReferencePage(
            f"reference/services/{service.name.lower()}", service.name, intro, tuple(_operations(service))
        )
    yield ReferencePage("reference/services/events", "Events", EVENTS_INTRO, tuple(_events()))


EVENTS_INTRO = """A solution handles an event with a Lua script that begins with `--#EVENT service event`, in a
file below `services/` of its folder, or with `solution.on(service, event, …)` in Python. The handler's argument has the
name that is given here; `context` is available besides."""


# --- operations ---------------------------------------------------------------------------------------------


def _operations(service: Service) -> Iterator[ReferenceEntry]:
    for operation in service.operations.values():
        yield ReferenceEntry(
            "operation", f"{operation.service}.{operation.name}", _body(operation), (operation.name,)
        )


def _body(operation: Operation) -> str:
    arguments = dict(example(operation))
    parts = [prose(operation.doc)]
    if listed := bullets(_arguments(operation)):
        parts += ["**Arguments**", listed]
    if errors := ", ".join(
        f"`{each}`"
        for each in sorted({*STATUS.findall(operation.doc), *(["400"] if operation.attributes else [])})
    ):
        parts.append(f"**Error statuses:** {errors}")
    parts += ["**In Lua**", code("lua", lua_call(operation, arguments))]
    parts += ["**In Python**", code("python", python_call(operation, arguments))]
    return "\n\n".join(parts)


def _arguments(operation: Operation) -> Iterator[tuple[str, str, str]]:
    texts = argument_texts(operation)
    for each in described(operation).parameters:
        need = "required" if each.required else f"default {_default(each)}"
        yield each.name, f"`{each.type}`, {need}", prose(texts.get(each.name, ""))
    if operation.collects:
        yield OTHERS, "any other names", "see above"


def _default(parameter: ParameterInfo) -> str:
    return "none" if parameter.default is None else f"`{parameter.default!r}`"


def argument_texts(operation: Operation) -> Mapping[str, str]:
    """Return the meaning of each argument, as far as the docstring or the table of shared words has one."""
    found = dict(explained(operation.doc, operation.attributes))
    for name in operation.attributes:
        text = _words(operation, name).get("text")
        if name not in found and text is not None:
            found[name] = text
    return found


def _words(operation: Operation, name: str) -> Mapping[str, Any]:
    shared = words()[operation.service]
    found: Mapping[str, Any] = shared.get(f"{operation.name}.{name}") or shared.get(name) or {}
    return found


def example(operation: Operation) -> Iterator[tuple[str, Any]]:
    """Yield example arguments of an operation: the required ones, and optional ones that clarify."""
    for each in described(operation).parameters:
        known = _words(operation, each.name)
        if each.required or known.get("optional"):
            yield each.name, known["example"]
    if operation.collects and (more := _words(operation, OTHERS)):
        yield from more["example"].items()


def lua_call(operation: Operation, arguments: Mapping[str, Any]) -> str:
    """Return a call of an operation in Lua."""
    given = lua(arguments) if arguments else ""
    return f"local result = {operation.service}.{operation.name}({given})"


def python_call(operation: Operation, arguments: Mapping[str, Any]) -> str:
    """Return a call of an operation in Python."""
    if any(not name.isidentifier() or name == "from" for name in arguments):
        given = f"**{arguments!r}"
    else:
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"result = solution.{operation.service}.{operation.name}({given})"


def lua(value: Any) -> str:
    """Return a value as a Lua expression."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_lua_key(name)} = {lua(each)}" for name, each in value.items()) + "}"
        case list():
            return "{" + ", ".join(map(lua, value)) + "}"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _lua_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f"[{lua(name)}]"


# --- events -------------------------------------------------------------------------------------------------


def event_name(kind: EventKind) -> str:
    """Return the name of an event in the reference."""
    return f"{kind.service} {kind.event}" + (f" ({kind.type})" if kind.type else "")


def raised() -> Iterator[EventKind]:
    """Yield the kinds of events that a platform raises."""
    from labkit.solutions.events import EVENTS, FALLBACK

    for kind in platform().context.events.kinds():
        if kind not in EVENTS or (kind.service, kind.event) == FALLBACK:
            yield kind


def _events() -> Iterator[ReferenceEntry]:
    for kind in raised():
        known = event_words()[event_name(kind)]
        argument = kind.arguments[0]
        parts = [known["when"], f"The handler's argument is `{argument}`."]
        if fields := known.get("fields"):
            parts += ["**Fields**", "\n".join(f"- `{name}`: {text}" for name, text in fields.items())]
        event = "changed" if kind.event == "*" else kind.type or kind.event  # most types need it
        parts += ["**In Lua**", code("lua", f"--#EVENT {kind.service} {event}\nprint(to_json({argument}))")]
        handler = f'@solution.on("{kind.service}", "{event}")\ndef handle({argument}, log):\n    log.info({argument})'
        parts += ["**In Python**", code("python", handler)]
        yield ReferenceEntry("event", event_name(kind), "\n\n".join(parts), _aliases(kind))


def _aliases(kind: EventKind) -> tuple[str, ...]:
    return (
        f"{kind.service} {kind.event}",
        *([kind.type, f"{kind.service} {kind.type}"] if kind.type else []),
    )
