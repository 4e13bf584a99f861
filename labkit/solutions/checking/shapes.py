"""Values that scripts get: globals, tables with their fields, and arguments of events (shapes.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from labkit.labtime.events import Events
from labkit.services.registry import words
from labkit.solutions import events
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.scripts import WEBSOCKET, ScriptSource
from labkit.solutions.web.request import FORM, is_json, media_type

Given = Mapping[
    str, Mapping[str, str]
]  # by name the fields of a table with their texts; none where they vary
ANY = "*"  # stands for an argument of any name
SOCKET = ("websocketInfo", "websocket_info")
DEVICE_EVENT = f"{events.DEVICE_DATA} event "  # before the type
DEVICES = frozenset({events.DEVICE, events.DEVICE_DATA, events.ANY_PRODUCT})


@cache
def shapes() -> Mapping[str, Any]:
    """Return the data of shapes.toml: `globals`, `test_globals`, `tables` and `events`."""
    return tomllib.loads(Path(__file__).with_name("shapes.toml").read_text("utf-8"))


@cache
def event_words() -> Mapping[str, Mapping[str, Any]]:
    """Return when each event is raised and what its argument has, by the event's name; also those of services."""
    found = {**shapes()["events"], **words()["events"]}
    shared = {
        name: text for name, text in found[f"{DEVICE_EVENT}(data_in)"]["fields"].items() if name != "payload"
    }
    return {
        name: {**each, "fields": shared | each["fields"]}
        if name.startswith(DEVICE_EVENT) and "fields" in each
        else each
        for name, each in found.items()
    }


def fields(table: str) -> Mapping[str, str]:
    """Return the fields of a table, such as `response`, with their texts."""
    found: Mapping[str, str] = shapes()["tables"][table]
    return found


def given_to_scripts(
    folder: SolutionFolder, known: Events, products: Mapping[str, Collection[str]]
) -> Iterator[tuple[ScriptSource, Given]]:
    """Yield each script of a folder with the tables that the platform gives it. products: resources of the lab's."""
    for route in folder.endpoints:
        yield route.script, _of_route(route.method == WEBSOCKET, route.path, _text_of(route.content_type))
    aliases = sorted({*folder.resources}.union(*products.values()))
    of_alias = {"alias": f"one of {', '.join(f'`{each}`' for each in aliases)}"}
    for handler in folder.events:
        given = given_to_handler(handler.service, handler.event, known, products)
        if "alias" in given.get("data", {}):
            given = {**given, "data": {**given["data"], **of_alias}}
        yield handler.script, given
    for module in folder.modules.values():
        yield module, dict.fromkeys(SOCKET, fields(SOCKET[0]))  # in a module they are there during an event
    for script in folder.init_scripts:
        yield script, {"context": fields("context")}


def _text_of(content_type: str) -> str:
    """Return what the body of a request is, where a route's type makes it a text."""
    media = media_type(content_type)
    is_table = is_json(media) or media in ("", FORM, "multipart/form-data")
    return "" if is_table else f"a text, as the route is {media}"


def _of_route(is_websocket: bool, path: str = "", body: str = "") -> Given:
    """Return the tables of a route, with its path as the text of `parameters`, and that of its request's body."""
    names = SOCKET if is_websocket else ("request",)
    first = {each: {**fields(names[0]), "parameters": path} for each in names}
    if body and not is_websocket:
        first["request"]["body"] = body
    return {**first, "response": fields("response"), "context": fields("context")}


def given_to_handler(service: str, event: str, known: Events, products: Collection[str]) -> Given:
    """Return the tables of an event's handler; of a route's for a method and a path. products: ids of the lab's."""
    if event.startswith("/"):
        return _of_route(service == WEBSOCKET, event)
    handled, devices = service, DEVICES.union(products)
    service, event = key = events.key(service, event)
    if key == events.WEBSOCKETS:
        return _of_route(is_websocket=True)
    kind = known.kind(service, event)
    is_named = kind is not None and not kind.any_name
    if handled in devices:
        is_named = True
        service = events.DEVICE if event == "datapoint" else events.DEVICE_DATA
    names = (f"{service} {event}", f"{DEVICE_EVENT}({event})" if handled in devices else "")
    kinds = (
        each for name, each in event_words().items() if name in names or name.partition(" (")[0] == names[0]
    )
    there = {name: text for each in kinds for name, text in each.get("fields", {}).items()}
    return {
        **dict.fromkeys(events.arguments(known, handled, event), there),
        "context": fields("context"),
        **({} if is_named else {ANY: {}}),
    }
