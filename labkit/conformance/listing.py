"""The data of `labkit list`, for JSON and as text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from labkit.conformance.coverage import Coverage, Covered, coverage
from labkit.conformance.own import Folders
from labkit.conformance.suite import suite
from labkit.control.services import described
from labkit.core.words import counted
from labkit.labtime.events import EventKind
from labkit.services.operation import Caller, Operation
from labkit.settings import load as load_settings
from labkit.solutions.events import EVENTS as OTHERS
from labkit.solutions.events import FALLBACK
from labkit.solutions.functions import HELPERS
from labkit.solutions.lua.globals import script_globals
from labkit.solutions.scripted import ROUTE, SOCKET


def statements(folders: Folders = ()) -> tuple[dict[str, Any], str]:
    """Return every statement with its requirements, their checks and mutants, the coverage, and what folders have.

    folders: with requirements and checks of one's own. Raises CatalogueError for a wrong one.
    """
    chosen = suite(folders)
    whole, own = chosen.package, chosen.own
    data: dict[str, Any] = {"statements": whole.statements(), "coverage": whole.as_dict()}
    lines = [*_statement_lines(whole), "", *_count_lines(whole)]
    if folders:
        data["own"] = [each.as_dict() for each in own]
        lines += ["", "Requirements of one's own", "", *_requirement_lines(own)]
    return data, "\n".join(lines)


def requirements(folders: Folders = ()) -> tuple[list[dict[str, Any]], str]:
    """Return every requirement with its checks and mutants, also those of folders of one's own.

    Raises CatalogueError for a wrong folder.
    """
    whole = suite(folders)
    return [each.as_dict() for each in whole], "\n".join(_requirement_lines(whole))


def operations(config: Path | None = None) -> tuple[dict[str, Any], str]:
    """Return the scripting interface: operations of the services, events that scripts handle, and globals.

    config: a lab.yaml; the services that its solutions publish to each other are listed too. Raises SettingsError if
    it is wrong.
    """
    from labkit.platform import Platform

    platform = Platform()  # the lab is only described here, never started
    shared = [
        _operation(each.name, operation)
        for each in platform.services
        for operation in each.operations.values()
    ]
    data = {
        "operations": [*shared, *([] if config is None else asyncio.run(_of_subscribers(config)))],
        "events": [_event(each) for each in platform.context.events.kinds()],
        "handlers": [
            _handler("endpoint", ROUTE),
            _handler("websocket", SOCKET),
            _handler("function", HELPERS),
        ],
        "globals": asyncio.run(script_globals()),
    }
    return data, "\n".join(_script_lines(data))


def covered() -> tuple[dict[str, Any], str]:
    """Return the coverage, the requirements that are not mutable, and labkit's choices where the documents are
    silent.
    """
    whole = coverage()
    return whole.as_dict(), "\n".join(_coverage_lines(whole))


async def _of_subscribers(config: Path) -> list[dict[str, Any]]:
    """Return the operations that solutions of a lab publish to each other, with the subscribing solution."""
    from labkit.platform import Platform

    fresh = {"https_port": 0, "http_port": None, "data": None, "keystore": None}
    async with Platform(load_settings(config).model_copy(update=fresh)) as platform:
        shared = platform.context.services
        return [
            {"solution": solution.id, **_operation(service, operation)}
            for solution in platform.solutions
            for service, operations in platform.services.operations(Caller(solution.id)).items()
            if service not in shared
            for operation in operations.values()
        ]


def _operation(service: str, operation: Operation) -> dict[str, Any]:
    return {
        "service": service,
        "operation": operation.name,
        "arguments": arguments(operation),
        "accepts_extra": operation.collects,
        "doc": operation.doc,
    }


def arguments(operation: Operation) -> list[dict[str, Any]]:
    """Return the arguments of an operation: name, type, whether required, the default, whether secret."""
    return [each.model_dump() for each in described(operation).parameters]


def _event(kind: EventKind) -> dict[str, Any]:
    """Return an event as plain data.

    raised: whether this platform raises it; the others are bound too, so that solutions that handle them load.
    """
    return {
        "service": kind.service,
        "event": kind.event,
        "type": kind.type,
        "arguments": [*kind.arguments],
        "raised": kind not in OTHERS or (kind.service, kind.event) == FALLBACK,
    }


def _handler(kind: str, names: Iterable[str]) -> dict[str, Any]:
    return {"kind": kind, "arguments": [*names]}


# --- as text ------------------------------------------------------------------------------------------------


def _statement_lines(whole: Coverage) -> Iterator[str]:
    document = section = ""
    for statement in whole.catalogue.statements.values():
        if statement.document != document:
            yield from ([""] if document else [])
            document = statement.document
            yield document
        if statement.section != section:
            section = statement.section
            yield from ("", f"  {section}")
        yield f"    {statement.item:>9}  {statement.gist}"
        if statement.nothing_to_test is not None:
            yield f"{'':15}nothing to test: {statement.nothing_to_test}"
        for covered in whole.requirements_of(statement):
            yield f"{'':15}{_brief(covered)}"


def _brief(covered: Covered) -> str:
    proof = [counted(len(covered.checks), "check")]
    if covered.requirement.not_mutable is None:
        proof.append(counted(len(covered.mutants), "mutant"))
    else:
        proof.append("not mutable")
    return f"{covered.id:14} {covered.requirement.level:6} {', '.join(proof)}"


def _requirement_lines(whole: Iterable[Covered]) -> Iterator[str]:
    for covered in whole:
        requirement = covered.requirement
        sources = f"  ({', '.join(requirement.sources)})" if requirement.sources else ""
        yield f"{covered.id}  {requirement.level}{sources}"
        yield f"    {requirement.text}"
        yield from (f"      check   {each.name}: {each.title}" for each in covered.checks)
        for mutant in covered.mutants:
            yield f"      mutant  {mutant.name}: {mutant.title}"
            for what, value in mutant.breaks().items():
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                yield f"              {what}: {shown}"
        if requirement.not_mutable is not None:
            yield f"      not mutable: {requirement.not_mutable}"


def _script_lines(data: dict[str, Any]) -> Iterator[str]:
    yield from _operation_lines(data["operations"])
    yield from (
        "",
        "Events, and the names that a handler has the event under; a script has `context` besides",
    )
    for each in data["events"]:
        names = ", ".join(each["arguments"])
        kind = f" ({each['type']})" if each["type"] else ""
        yield f"  {each['service']} {each['event']}{kind}: {names}{'' if each['raised'] else '; not raised here'}"
    yield from ("", "Other handlers, and what they have")
    yield from (f"  {each['kind']}: {', '.join(each['arguments'])}" for each in data["handlers"])
    yield from ("", "Globals of scripts; each service is one too, by its name")
    for name, inner in data["globals"].items():
        yield f"  {name}{': ' if inner else ''}{', '.join(inner)}"


def _operation_lines(operations: Iterable[dict[str, Any]]) -> Iterator[str]:
    service = ""
    for each in operations:
        solution = f" of solution {each['solution']}" if "solution" in each else ""
        if f"{each['service']}{solution}" != service:
            yield from ([""] if service else [])
            service = f"{each['service']}{solution}"
            yield service
        shown = [_argument(argument) for argument in each["arguments"]]
        yield f"  {each['operation']}({', '.join([*shown, '…'] if each['accepts_extra'] else shown)})"
        yield from (f"      {line}".rstrip() for line in each["doc"].splitlines())


def _argument(argument: dict[str, Any]) -> str:
    shown = f"{argument['name']}: {argument['type']}"
    return shown if argument["required"] else f"{shown} = {argument['default']!r}"


def _coverage_lines(whole: Coverage) -> Iterator[str]:
    yield from _count_lines(whole)
    fixed = whole.not_mutable
    yield from ("", f"not mutable: {len(fixed)}")
    yield from (f"  {each.id:14} {each.requirement.not_mutable}" for each in fixed)
    untested = [each for each in whole.catalogue.statements.values() if each.nothing_to_test is not None]
    yield from ("", f"nothing to test: {len(untested)}")
    yield from (f"  {each.reference:32} {each.nothing_to_test}" for each in untested)
    yield from ("", f"left open by the documents, chosen by labkit: {len(whole.choices)}")
    yield from (f"  {each.id:14} {each.requirement.text}" for each in whole.choices)
    for name, gaps in (
        ("without check", [each.id for each in whole.unchecked]),
        ("level must, mutable, without mutant", [each.id for each in whole.unproved]),
        ("checks and mutants of no requirement", list(whole.unknown_requirements)),
    ):
        if gaps:
            yield from ("", f"{name}: {len(gaps)}", *(f"  {each}" for each in gaps))


def _count_lines(whole: Coverage) -> Iterator[str]:
    for name, count in whole.counts().items():
        yield f"{count:6}  {name}"
