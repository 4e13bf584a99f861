"""Reader of `endpoints/schema.yml`: entries of OpenAPI 2.0 that are merged into the documentation of a solution."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from labkit.core.errors import SettingsError, did_you_mean
from labkit.settings import build

Document = dict[str, Any]

NAMES = ("schema.yml", "schema.yaml")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
MERGED = ("info", "tags", "parameters", "responses", "definitions", "securityDefinitions", "externalDocs")
KNOWN = (
    *MERGED, "paths", "swagger", "openapi", "host", "basePath", "schemes", "consumes", "produces", "security",
    "components", "servers",
)  # fmt: skip
DEEPEST = 60  # nesting


def plain(value: object, depth: int = 0) -> Any:
    """Return a value of YAML in the form of JSON: keys and dates as texts. Raises SettingsError if it is too deep."""
    if depth > DEEPEST:
        raise SettingsError(f"nested more than {DEEPEST} deep")
    if isinstance(value, dict):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(each, depth + 1) for each in value]
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _without_empty(value: object) -> object:
    """Return a mapping without the keys that have no value, such as `parameters:`."""
    return (
        {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value
    )


Table = Annotated[dict[str, Any], BeforeValidator(_without_empty)]


class SchemaEntry(BaseModel):
    """Base of the entries whose form the documentation relies on; further keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)


class OperationEntry(SchemaEntry):
    """Description of a method of a path."""

    summary: str = ""
    description: str = ""
    tags: list[str] = []
    parameters: list[dict[str, Any]] = []
    responses: dict[str, dict[str, Any]] = {}


class PathEntry(SchemaEntry):
    """Description of a path."""

    parameters: list[dict[str, Any]] = []
    get: OperationEntry | None = None
    put: OperationEntry | None = None
    post: OperationEntry | None = None
    delete: OperationEntry | None = None
    options: OperationEntry | None = None
    head: OperationEntry | None = None
    patch: OperationEntry | None = None


class SchemaFile(SchemaEntry):
    """Contents of a file. A reference is a table with `$ref`, so only tables are checked below these keys."""

    info: Table = {}
    paths: dict[str, PathEntry] = {}
    parameters: dict[str, dict[str, Any]] = {}
    responses: dict[str, dict[str, Any]] = {}
    definitions: dict[str, dict[str, Any]] = {}
    securityDefinitions: dict[str, dict[str, Any]] = {}  # noqa: N815 - the names are OpenAPI's


def misspelt(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each key that resembles a known one, with the end of the sentence about it."""
    yield from ((key, similar) for key in schema if (similar := did_you_mean(key, KNOWN)))
    for path, entry in schema.get("paths", {}).items():
        yield from (
            (f"paths.{path}.{key}", similar)
            for key in entry
            if (similar := did_you_mean(key, PathEntry.model_fields))
        )


def checked(file: str, values: object) -> dict[str, Any]:
    """Return the contents of a file in the form of JSON. Raises SettingsError naming file and key."""
    try:
        given = _without_empty({} if values is None else plain(values))
        if isinstance(given, dict) and isinstance(given.get("paths"), dict):
            paths = {path: _without_empty(each) for path, each in given["paths"].items()}
            given["paths"] = {
                path: {key: _without_empty(each) for key, each in entry.items()}
                if isinstance(entry, dict)
                else entry
                for path, entry in paths.items()
                if entry is not None
            }
        build(SchemaFile, given)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error}") from None
    assert isinstance(given, dict)
    return given


def merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> Document:
    """Return a mapping with the entries of another one merged into it, at every level of mappings."""
    found = dict(base)
    for key, value in more.items():
        inner = found.get(key)
        both = isinstance(inner, Mapping) and isinstance(value, Mapping)
        found[key] = merged(inner, value) if both else value  # type: ignore[arg-type]
    return found
