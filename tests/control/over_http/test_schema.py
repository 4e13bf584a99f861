"""The OpenAPI document: it is valid, each argument has bounds, and generated requests get answers that it describes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx
import jsonschema
import openapi_pydantic
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from labkit.control.over_http.listener import control_listener
from labkit.control.over_http.openapi import document
from labkit.control.over_http.operations import operations
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings
from tests.control.over_http.generated import ANY, values
from tests.sizes import size

Schema = dict[str, Any]

BOUNDED = {
    "string": [{"maxLength", "pattern", "enum", "const", "format"}],
    "number": [{"maximum", "exclusiveMaximum"}, {"minimum", "exclusiveMinimum"}],
}
BOUNDED["integer"] = BOUNDED["number"]
# An operation with generated numbers may take long: a clock advances, millions of passwords are hashed.
PATIENCE = 20.0


LONG = {"plays.run"}  # ten thousand devices for years of lab time fit its schema


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
        *("polls.wait_for_more_of_device", "polls.wait_for_count"),
        *("faults.wait_for_delay", "faults.wait_until_blocked"),
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
    for each in schema.get("patternProperties", {}).values():
        yield from without_bounds(each, where, seen)
    if isinstance(schema.get("additionalProperties"), dict) and "propertyNames" not in schema:
        yield f"{where}/names"


def content(described: Mapping[str, Any]) -> Schema:
    [each] = described["content"].values()
    found: Schema = each["schema"]
    return found


def resolved(schema: Schema) -> Schema:
    """Return a schema that has the named ones in itself."""
    return {**schema, "components": {"schemas": document()["components"]["schemas"]}}


def check(path: str, answer: httpx.Response) -> None:
    """Raise an error for an answer that the document does not describe."""
    responses = document()["paths"][path]["post"]["responses"]
    described = responses[str(answer.status_code)]
    if "$ref" in described:
        described = document()["components"]["responses"][described["$ref"].rpartition("/")[2]]
    assert answer.headers["Content-Type"].split(";")[0] in described["content"]
    jsonschema.Draft202012Validator(resolved(content(described))).validate(answer.json())


def bodies() -> dict[str, st.SearchStrategy[Any]]:
    """Return the strategy of request bodies that match the schema, for each path."""
    named, made = document()["components"]["schemas"], {}
    for each in operations().values():
        if not each.waits and not each.streams and each.key not in LONG:
            body = document()["paths"][each.path]["post"]["requestBody"]
            fitting = values(content(body), named)
            made[each.path] = fitting
    return made


def test_generated_requests_get_answers_that_the_document_describes() -> None:
    """With a lab that has a product `a` and a solution `a`, since generated names are short."""
    generated = bodies()
    with asyncio.Runner() as runner:
        client, close = runner.run(started())
        try:

            @seed(1)
            @settings(
                max_examples=size(300, 5000),
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(st.data())
            def play(data: st.DataObject) -> None:
                path = data.draw(st.sampled_from(list(generated)))
                body = data.draw(generated[path] if data.draw(st.integers(0, 4)) else ANY)
                with suppress(httpx.ReadTimeout):
                    answer = runner.run(client.post(path, json=body))
                    assert answer.status_code < 500, (path, body, answer.text)
                    check(path, answer)

            play()
        finally:
            runner.run(close())


async def started() -> tuple[httpx.AsyncClient, Callable[[], Coroutine[Any, Any, None]]]:
    platform = await Platform(LabSettings(https_port=0), seed=7).start()
    listener = control_listener(platform, ControlSettings())
    address = await listener.__aenter__()
    client = httpx.AsyncClient(
        base_url=address.url, headers={"Authorization": f"Bearer {address.token}"}, timeout=PATIENCE
    )
    for key in ("products", "solutions"):
        assert (await client.post(f"/v1/{key}/ensure", json={"settings": {"id": "a"}})).status_code == 200

    async def close() -> None:
        await client.aclose()
        await listener.__aexit__(None, None, None)
        await platform.stop()

    return client, close
