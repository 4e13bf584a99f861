"""The OpenAPI document: a library reads it, it has all operations, and each argument has bounds."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

import openapi_pydantic

from labkit.control.over_http.bodies import MAX_BODY
from labkit.control.over_http.openapi import document, document_json
from labkit.control.over_http.operations import operations

Schema = dict[str, Any]

BOUNDED = {
    "string": [{"maxLength", "pattern", "enum", "const", "format"}],
    "number": [{"maximum", "exclusiveMaximum"}, {"minimum", "exclusiveMinimum"}],
}
BOUNDED["integer"] = BOUNDED["number"]


def test_openapi_pydantic_reads_the_document() -> None:
    read = openapi_pydantic.OpenAPI.model_validate(document())
    assert read.openapi == "3.1.0"
    assert read.paths is not None
    assert len(read.paths) == len(operations()) + 3
    post = read.paths["/v1/clock/advance"].post
    assert post is not None
    assert post.operationId == "clock_advance"


def test_all_of_control_but_the_operations_with_functions_is_offered() -> None:
    assert len(operations()) > 90
    subjects = {each.subject for each in operations().values()}
    assert not subjects & {"functions", "fleet_runs"}
    assert {"lab.settle", "lab.restart", "lab.reset", "products.ensure", "polls.wait_for_count"} <= set(
        operations()
    )
    assert {each.key for each in operations().values() if each.waits} == {
        *("polls.wait_for_more_of_device", "polls.wait_for_count", "polls.wait_for_newer"),
        *("faults.wait_for_delay", "faults.wait_until_blocked", "devices.act", "mailbox.follow"),
        "solutions.request",
    }


def test_each_number_and_text_of_an_argument_has_bounds() -> None:
    unbounded = [
        where
        for path, each in document()["paths"].items()
        if "post" in each
        for where in without_bounds(content(each["post"]["requestBody"]), path, set())
    ]
    assert unbounded == []


def without_bounds(schema: Any, where: str, seen: set[str]) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            seen.add(name)
            yield from without_bounds(document()["components"]["schemas"][name], name, seen)
        return
    if any(not keys & schema.keys() for keys in BOUNDED.get(schema.get("type", ""), [])):
        yield where
    for name, each in schema.get("properties", {}).items():
        yield from without_bounds(each, f"{where}.{name}", seen)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for each in schema.get(key, []):
            yield from without_bounds(each, where, seen)
    for key in ("items", "additionalProperties"):
        yield from without_bounds(schema.get(key), f"{where}/{key}", seen)
    if isinstance(schema.get("additionalProperties"), dict) and "propertyNames" not in schema:
        yield f"{where}/names"


def content(described: Mapping[str, Any]) -> Schema:
    [each] = described["content"].values()
    found: Schema = each["schema"]
    return found


def test_bytes_are_described_as_base64_that_a_body_has_room_for() -> None:
    data = document()["components"]["schemas"]["ContentAddArguments"]["properties"]["data"]
    assert data["contentEncoding"] == "base64"
    assert data["maxLength"] + 2**16 < MAX_BODY
    for text in (base64.b64encode(bytes(range(count, 256))).decode() for count in (0, 1, 2, 256)):
        assert re.search(data["pattern"], text)
    for text in ("A", "AA", "AB==", "AAB=", "A===", "-_-_"):
        assert not re.search(data["pattern"], text)


def test_keys_have_the_pattern_that_they_are_checked_for() -> None:
    resources = document()["components"]["schemas"]["ProductSettings-Input"]["properties"]["resources"]
    assert resources["propertyNames"] == {"pattern": "^([A-Za-z0-9_.$-]{1,64})$"}
    assert {"$ref": "#/components/schemas/Resource"} in resources["additionalProperties"]["anyOf"]
    assert "patternProperties" not in document_json().decode()
