"""Description of the control operations as OpenAPI 3.1, made from the same types that check requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from labkit.control.over_http.operations import ControlOperation, operations
from labkit.control.over_http.problem import PROBLEM_JSON, ProblemDetails
from labkit.control.over_http.runs import RunInfo

REF = "#/components/schemas/{model}"
REFUSALS: Mapping[int, str] = {
    400: "The operation refused: the detail says why",
    401: "No token, or a wrong one",
    403: "The Host is not the lab's own, another web page sent the request, or a path is outside of --files",
    404: "Something with this name does not exist",
    408: "The body did not come",
    409: "The name is in use already",
    413: "The body is too large",
    415: "The body is compressed",
    429: "Too many runs are in progress, or labs are running",
    422: "Arguments do not match their schema",
    500: "The data file is damaged, or labkit has an error",
    507: "There is no room for the data file",
}
DESCRIPTION = """Control of a lab. Bytes are base64.

Where a value may have any type, one that JSON has no form for is an object with one key: `{"$bytes": "AP8="}`,
`{"$number": "NaN"}`; a key that begins with `$` itself gets another `$` in front."""

RUN = {"$ref": REF.format(model=RunInfo.__name__)}
RUN_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
PREFER = {
    "name": "Prefer",
    "in": "header",
    "description": "`respond-async`: the operation is a run, which goes on without its client",
    "schema": {"type": "string"},  # of any length: what it does not know, a server ignores
}

Mode = Literal["validation", "serialization"]
# RFC 4648, section 4; bits of the last letter that are beyond the last byte are zero
BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"


class ControlJsonSchema(GenerateJsonSchema):
    """JSON Schemas that say what requests are checked for, where pydantic's say less."""

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """Return the schema of bytes: base64, with limits of its letters."""
        made: JsonSchemaValue = {"type": "string", "contentEncoding": "base64", "pattern": BASE64}
        limits = {"minLength": schema.get("min_length"), "maxLength": schema.get("max_length")}
        return {**made, **{key: 4 * -(-count // 3) for key, count in limits.items() if count is not None}}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Return the schema of an object. Its keys match a pattern, in words that makers of clients know as well."""
        made = super().dict_schema(schema)
        if "patternProperties" in made:
            [(pattern, inner)] = made.pop("patternProperties").items()
            made |= {"propertyNames": {"pattern": pattern}, "additionalProperties": inner}
        return made


@cache
def document() -> Mapping[str, Any]:
    """Return the OpenAPI document."""
    schemas, components = _schemas()
    return {
        "openapi": "3.1.0",
        "info": {"title": "labkit control", "version": version("labkit"), "description": DESCRIPTION},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": name} for name in dict.fromkeys(each.subject for each in operations().values())],
        "paths": {
            **{each.path: {"post": _operation(each, schemas)} for each in operations().values()},
            "/v1/runs": {
                "get": _runs_operation("list_runs", "Return all runs, without their results.", many=True)
            },
            "/v1/runs/{id}": {
                "parameters": [RUN_ID],
                "get": _runs_operation("get_run", "Return a run; `Prefer: wait=30` waits for its end."),
                "delete": _runs_operation("end_run", "End a run, and return it."),
            },
            "/health": {"get": HEALTH},
        },
        "components": {
            "schemas": components,
            "responses": {str(status): _refusal(text) for status, text in REFUSALS.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


@cache
def document_json() -> bytes:
    """Return the OpenAPI document as JSON. The first call takes a while."""
    return json.dumps(document()).encode()


HEALTH: Mapping[str, Any] = {
    "operationId": "health",
    "summary": "Return whether the lab answers.",
    "security": [],
    "responses": {
        "200": {
            "description": "It does",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {"status": {"const": "ok"}},
                        "required": ["status"],
                        "additionalProperties": False,
                    }
                }
            },
        },
        "403": {"$ref": "#/components/responses/403"},
    },
}


def _schemas() -> tuple[Mapping[tuple[str, Mode], Any], Mapping[str, Any]]:
    """Return the schema of the arguments and the result of each operation, and the named schemas that they use."""
    inputs: list[tuple[str, Mode, TypeAdapter[Any]]] = [
        ("problem", "serialization", TypeAdapter(ProblemDetails)),
        ("run", "serialization", TypeAdapter(RunInfo)),
    ]
    for each in operations().values():
        inputs.append((each.key, "validation", TypeAdapter(each.arguments)))
        inputs.append((each.key, "serialization", each.result))
    made, rest = TypeAdapter.json_schemas(inputs, ref_template=REF, schema_generator=ControlJsonSchema)
    components = rest.get("$defs", {})
    # two forms of a model have one title, of which clients make one name
    for name, each in components.items():
        each["title"] = name.replace("-", " ")
    return made, components


def _operation(operation: ControlOperation, schemas: Mapping[tuple[str, Mode], Any]) -> Mapping[str, Any]:
    summary, _, rest = operation.doc.partition("\n\n")
    given = operation.arguments.model_fields.values()
    content = {"schema": schemas[operation.key, "serialization"]}
    described: dict[str, Any] = {
        "operationId": f"{operation.subject}_{operation.name}",
        "tags": [operation.subject],
        "summary": summary,
        "requestBody": {
            "required": any(each.is_required() for each in given),
            "content": {"application/json": {"schema": schemas[operation.key, "validation"]}},
        },
        "responses": {
            "200": {
                "description": "Server-sent events; the schema is that of each `data`"
                if operation.streams
                else "The result",
                "content": {"text/event-stream" if operation.streams else "application/json": content},
            },
            **_refusals(REFUSALS),
        },
    }
    if not operation.streams:
        described["parameters"] = [PREFER]
        content = {"application/json": {"schema": RUN}}
        described["responses"]["202"] = {
            "description": "The run, with `Prefer: respond-async`",
            "content": content,
        }
    return {**described, "description": rest} if rest else described


def _runs_operation(name: str, summary: str, *, many: bool = False) -> Mapping[str, Any]:
    content = {"application/json": {"schema": {"type": "array", "items": RUN} if many else RUN}}
    return {
        "operationId": name,
        "tags": ["runs"],
        "summary": summary,
        "responses": {"200": {"description": "The result", "content": content}, **_refusals((401, 403, 404))},
    }


def _refusals(statuses: Iterable[int]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses}


def _refusal(text: str) -> Mapping[str, Any]:
    schema = {"$ref": REF.format(model=ProblemDetails.__name__)}
    return {"description": text, "content": {PROBLEM_JSON: {"schema": schema}}}
