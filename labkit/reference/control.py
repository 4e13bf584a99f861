"""Reference of control over HTTP, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labkit.control.over_http.openapi import REFUSALS, document
from labkit.control.over_http.operations import operations
from labkit.reference.entry import ReferenceEntry, ReferencePage, bullets, explained, prose
from labkit.reference.settings import shown_type

INTRO = """Control over HTTP is beta: it may change in 1.x. `labkit serve --control` offers it, with
`/v1/openapi.json` as an OpenAPI document. Each operation is a POST with its arguments as JSON, and with the token in
`Authorization: Bearer …`."""


def pages() -> Iterator[ReferencePage]:
    """Yield a page for each subject."""
    whole = document()
    subjects: dict[str, list[ReferenceEntry]] = {}
    for each in operations().values():
        described = whole["paths"][each.path]["post"]
        entry = ReferenceEntry(
            "control operation", each.key, _body(each.path, described, whole), (each.path,)
        )
        subjects.setdefault(each.subject, []).append(entry)
    refusals = "\n".join(f"- {status}: {text}" for status, text in REFUSALS.items())
    for subject, entries in subjects.items():
        intro = f"{INTRO}\n\nErrors:\n\n{refusals}"
        yield ReferencePage(f"reference/control/{subject}", f"Control of {subject}", intro, tuple(entries))


def _body(path: str, described: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    doc = "\n\n".join(filter(None, (described["summary"], described.get("description", ""))))
    parts = [prose(doc), f"`POST {path}`"]
    schema = _resolved(described["requestBody"]["content"]["application/json"]["schema"], whole)
    if properties := schema.get("properties", {}):
        texts = explained(doc, properties)
        lines = [
            (name, _facts(name, each, schema), prose(texts.get(name, "")))
            for name, each in properties.items()
        ]
        parts += ["**Arguments**", bullets(lines)]
    [result] = described["responses"]["200"]["content"].values()
    stream = (
        " for each event of a stream"
        if "text/event-stream" in described["responses"]["200"]["content"]
        else ""
    )
    parts.append(f"**Result**{stream}: {_shown(result['schema'], whole)}")
    return "\n\n".join(parts)


def _facts(name: str, schema: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    need = "required" if name in whole.get("required", []) else "optional"
    return f"{shown_type(schema)}, {need}"


def _resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Mapping[str, Any] = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _shown(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Return the type of a result, with the names of the fields that an object has."""
    if schema.get("type") == "null":
        return "none"
    item = schema.get("items", schema)
    fields = ", ".join(f"`{name}`" for name in _resolved(item, whole).get("properties", {}))
    kind = "list of: mapping" if item is not schema and fields else shown_type(schema)
    return f"{kind} of {fields}" if fields else kind
