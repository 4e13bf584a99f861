"""Reference of control over HTTP, from its OpenAPI document."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.control.control import subjects
from labkit.control.over_http.openapi import REFUSALS, document
from labkit.control.over_http.operations import ControlOperation, operations
from labkit.control.over_http.problem import status_of
from labkit.core import errors
from labkit.reference.entry import ReferenceEntry, ReferencePage, bullets, explained, prose
from labkit.reference.settings import shown_type

INTRO = """Control over HTTP is beta: it may change in 1.x. `labkit serve --control` offers it, with
`/openapi.json` as an OpenAPI document. Each operation is a POST with its arguments as JSON, and with the token in
`Authorization: Bearer …`. A refusal is a problem document (RFC 9457), whose `detail` is the message, and whose `error`
is the class of error that Python raises. Bytes are base64."""

EVERY = ", ".join(map(str, sorted(REFUSALS.keys() - {400, 404, 409, 422})))
SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Z]|\w+: )")
ERROR = re.compile(r"\b[A-Z][A-Za-z]*Error\b")


def pages() -> Iterator[ReferencePage]:
    """Yield a page for each subject."""
    whole = document()
    by_subject: dict[str, list[ReferenceEntry]] = {}
    for each in operations().values():
        described = whole["paths"][each.path]["post"]
        body = "\n\n".join([_body(each.path, described, whole), _errors(each)])
        entry = ReferenceEntry("control operation", each.key, body, (each.path,))
        by_subject.setdefault(each.subject, []).append(entry)
    refusals = "\n".join(f"- {status}: {text}" for status, text in REFUSALS.items())
    for subject, entries in by_subject.items():
        intro = f"{INTRO}\n\nErrors:\n\n{refusals}"
        yield ReferencePage(f"reference/control/{subject}", f"Control of {subject}", intro, tuple(entries))


def _body(path: str, described: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    doc = "\n\n".join(filter(None, (described["summary"], described.get("description", ""))))
    parts = [prose(doc), f"`POST {path}`"]
    schema = _resolved(described["requestBody"]["content"]["application/json"]["schema"], whole)
    if properties := schema.get("properties", {}):
        texts = explained(doc, properties)
        lines = [
            (name, f"{_shown(each, whole)}, {_need(name, schema)}", prose(texts.get(name, "")))
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


def _errors(operation: ControlOperation) -> str:
    """Return the list of errors: what the docstrings of the operation and of its subject say, with the statuses."""
    subject = inspect.cleandoc(subjects()[operation.subject].__doc__ or "")
    lines = []
    for sentence in SENTENCE_END.split(" ".join(f"{operation.doc} {subject}".split())):
        names = [name for name in ERROR.findall(sentence) if hasattr(errors, name)]
        if names and "aises " in sentence:
            shown = ", ".join(f"{status_of(getattr(errors, name))} `{name}`" for name in dict.fromkeys(names))
            lines.append(f"- {shown}: {prose(sentence.strip())}")
    if operation.arguments.model_fields:
        lines.append(f"- 422: {REFUSALS[422].lower()}")
    return "\n\n".join(["**Errors**", "\n".join([*lines, f"- those of every operation: {EVERY}"])])


def _need(name: str, schema: Mapping[str, Any]) -> str:
    return "required" if name in schema.get("required", []) else "optional"


def _resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Mapping[str, Any] = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _shown(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    """Return a type, with the names of the fields that an object has."""
    if schema.get("type") == "null":
        return "none"
    item = schema.get("items", schema)
    fields = ", ".join(f"`{name}`" for name in _resolved(item, whole).get("properties", {}))
    kind = "list of: mapping" if item is not schema and fields else shown_type(schema)
    return f"{kind} of {fields}" if fields else kind
