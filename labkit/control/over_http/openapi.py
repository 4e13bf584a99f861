"""Description of the control operations as OpenAPI 3.1, made from the same types that check requests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from labkit.control.over_http.operations import ControlOperation, operations
from labkit.control.over_http.problem import PROBLEM_JSON, ProblemDetails

REF = "#/components/schemas/{model}"
REFUSALS: Mapping[int, str] = {
    400: "The operation refused: the detail says why",
    401: "No token, or a wrong one",
    403: "The Host is not the lab's own, a web page sent the request, or a path is outside of --files",
    404: "Something with this name does not exist",
    408: "The body did not come",
    409: "The name is in use already",
    413: "The body is too large",
    415: "The body is compressed",
    422: "Arguments do not match their schema",
    500: "The data file is damaged, or labkit has an error",
    507: "There is no room for the data file",
}
DESCRIPTION = """Control of a lab. Bytes are base64.

Where a value may have any type, one that JSON has no form for is an object with one key: `{"$bytes": "AP8="}`,
`{"$number": "NaN"}`; a key that begins with `$` itself gets another `$` in front."""

Mode = Literal["validation", "serialization"]


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
            "/health": {"get": HEALTH},
        },
        "components": {
            "schemas": components,
            "responses": {str(status): _refusal(text) for status, text in REFUSALS.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


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
        ("problem", "serialization", TypeAdapter(ProblemDetails))
    ]
    for each in operations().values():
        inputs.append((each.key, "validation", TypeAdapter(each.arguments)))
        inputs.append((each.key, "serialization", each.result))
    made, rest = TypeAdapter.json_schemas(inputs, ref_template=REF, schema_generator=GenerateJsonSchema)
    return made, rest.get("$defs", {})


def _operation(operation: ControlOperation, schemas: Mapping[tuple[str, Mode], Any]) -> Mapping[str, Any]:
    summary, _, rest = operation.doc.partition("\n\n")
    given = operation.arguments.model_fields.values()
    content = {"schema": schemas[operation.key, "serialization"]}
    described = {
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
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in REFUSALS},
        },
    }
    return {**described, "description": rest} if rest else described


def _refusal(text: str) -> Mapping[str, Any]:
    schema = {"$ref": REF.format(model=ProblemDetails.__name__)}
    return {"description": text, "content": {PROBLEM_JSON: {"schema": schema}}}
