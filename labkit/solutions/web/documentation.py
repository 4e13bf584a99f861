"""Documentation of a solution's routes as OpenAPI 2.0 ("Swagger"), made of the routes, their tags and schema.yml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from labkit.solutions.folders.schema_file import MERGED, METHODS, Document, merged, plain
from labkit.solutions.folders.scripts import PLACEHOLDER
from labkit.solutions.web.admission import CHALLENGES
from labkit.solutions.web.request import FORM, is_json, media_type
from labkit.solutions.web.routes import Route
from labkit.solutions.web.web_settings import OPEN, WebSettings

WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
CREDENTIALS = {
    "basic": {"type": "basic"},
    "bearer": {"type": "apiKey", "name": "Authorization", "in": "header", "description": "Bearer <token>"},
}
REFERENCE = "#/parameters/"


def document(
    title: str, host: str, routes: Iterable[Route], settings: WebSettings, schema: Mapping[str, Any]
) -> Document:
    """Return the OpenAPI document of a solution. title: without one in its settings; schema: of its schema.yml.

    Routes of websockets, which OpenAPI cannot describe, and those without a tag of `documented_endpoints` are left out;
    paths of schema.yml that no route has are there as it describes them.
    """
    info = plain(settings.api_info.model_dump())
    described: Document = {
        "swagger": "2.0",
        "info": {**info, "title": info["title"] or title},
        "host": host,
        "schemes": ["https"],
        "securityDefinitions": security_definitions(settings),
        "paths": {},
    }
    described = merged(described, {key: schema[key] for key in MERGED if key in schema})
    paths: dict[str, Document] = described["paths"]
    shapes: dict[str, str] = {}
    for route in sorted(routes, key=lambda each: (each.path, each.method)):
        if route.method.lower() in METHODS and _is_shown(route, settings):
            path = shapes.setdefault(_shape(route.path), _shown_path(route.path))
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, path, settings)
    for given, entry in schema.get("paths", {}).items():
        path = shapes.get(_shape(given), _shown_path(given))
        _merge_path(paths.setdefault(path, {}), _with_names(entry, given, path), path, described)
    return described


def security_definitions(settings: WebSettings) -> Document:
    """Return the definitions of all kinds of credentials, in the form of OpenAPI 2.0."""
    place = settings.api_key
    key = {"type": "apiKey", "name": place.name, "in": "query" if place.in_query else "header"}
    found: Document = {**CREDENTIALS, "apiKey": key}
    for name, scheme in settings.security_schemes.items():
        given = {"name": scheme.name, "in": scheme.place or "header"} if scheme.kind == "apiKey" else {}
        found[name] = {**found[scheme.kind], **{key: value for key, value in given.items() if value}}
    return found


def _is_shown(route: Route, settings: WebSettings) -> bool:
    wanted = settings.documented_endpoints
    return not wanted or not set(wanted).isdisjoint(route.tags.tags)


def _shape(path: str) -> str:
    """Return a path that is the same for all names of its placeholders."""
    return PLACEHOLDER.sub("{}", _shown_path(path))


def _shown_path(path: str) -> str:
    return "/" + re.sub("/{2,}", "/", path).strip("/")


def _operation(route: Route, path: str, settings: WebSettings) -> Document:
    """Return the description of a route, without what schema.yml says of it."""
    tags = route.tags
    kinds = settings.kinds if tags.security is None else tags.security
    limit = settings.rate_limit if tags.rate_limit is None else tags.rate_limit
    responses = {"200": {"description": "OK"}}
    if kinds and OPEN not in kinds:
        responses["401"] = {"description": f"without credentials ({' or '.join(kinds)})"}
    if limit:
        responses["429"] = {"description": f"more than {limit} requests in a minute"}
    found: Document = {"parameters": _parameters(route, path), "responses": responses}
    if tags.tags:
        found["tags"] = list(dict.fromkeys(tags.tags))
    if tags.summary:
        found["summary"] = tags.summary
    if tags.description:
        found["description"] = tags.description
    if kinds:
        found["security"] = [{kind: []} if kind in CHALLENGES else {} for kind in dict.fromkeys(kinds)]
    if route.method in WITH_BODY and route.content_type:
        found["consumes"] = [route.content_type]
    return found


def _parameters(route: Route, path: str) -> list[Document]:
    found: list[Document] = [_path_parameter(name) for name in PLACEHOLDER.findall(path)]
    media = media_type(route.content_type)
    if route.method in ("POST", "PUT", "PATCH") and media != FORM:
        schema = {} if is_json(media) else {"type": "string"}
        found.append({"name": "body", "in": "body", "required": False, "schema": schema})
    return found


def _path_parameter(name: str) -> Document:
    return {"name": name, "in": "path", "required": True, "type": "string"}


def _with_names(entry: Mapping[str, Any], given: str, path: str) -> Document:
    """Return an entry of schema.yml, for the path `given`, with the names of placeholders that the route has."""
    names = dict(zip(PLACEHOLDER.findall(given), PLACEHOLDER.findall(path), strict=False))

    def renamed(parameters: Iterable[Document]) -> list[Document]:
        return [
            {**each, "name": names.get(str(each.get("name")), each.get("name"))}
            if each.get("in") == "path"
            else each
            for each in parameters
        ]

    methods = {
        key: {**each, "parameters": renamed(each.get("parameters", []))}
        for key, each in entry.items()
        if key in METHODS
    }
    return {**entry, "parameters": renamed(entry.get("parameters", [])), **methods}


def _merge_path(base: Document, entry: Mapping[str, Any], path: str, whole: Document) -> None:
    """Merge what schema.yml says of a path into what the routes say of it."""
    shared = list(_named(entry["parameters"], whole))
    for key, value in entry.items():
        if key in METHODS:
            there = base.get(key, {"parameters": [], "responses": {}})
            parameters = _merged_parameters(there["parameters"], value.get("parameters", []), shared, whole)
            known = {name for name, place in [*_named(parameters, whole), *shared] if place == "path"}
            parameters += [_path_parameter(name) for name in PLACEHOLDER.findall(path) if name not in known]
            both = merged(there, {**value, "parameters": parameters})
            base[key] = {**both, "responses": both["responses"] or {"200": {"description": "OK"}}}
        elif key != "parameters" or value:
            base[key] = value
    for key in METHODS:  # the routes that schema.yml does not describe, beside parameters of the whole path
        if key in base and key not in entry:
            base[key]["parameters"] = _merged_parameters(base[key]["parameters"], [], shared, whole)


def _merged_parameters(
    own: Iterable[Document], given: list[Document], shared: Iterable[tuple[str, str]], whole: Document
) -> list[Document]:
    """Return the given parameters and those of the route that these, and `shared` for the whole path, leave out."""
    named = {*_named(given, whole), *shared}
    has_body = any(place in ("body", "formData") for _, place in named)
    kept = [
        each
        for each in own
        if (each["name"], each["in"]) not in named and not (each["in"] == "body" and has_body)
    ]
    return [*kept, *given]


def _named(parameters: Iterable[Document], whole: Document) -> Iterator[tuple[str, str]]:
    """Yield name and place of parameters; a reference stands for the parameter of the document that it names."""
    for each in parameters:
        target = str(each.get("$ref", ""))
        known = whole.get("parameters", {}).get(target.removeprefix(REFERENCE)) if target else each
        if isinstance(known, Mapping):
            yield str(known.get("name", "")), str(known.get("in", ""))
