"""The OpenAPI document of solutions, judged by a library, and the page made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from openapi_spec_validator import OpenAPIV2SpecValidator

from labkit.core.errors import SettingsError
from labkit.solutions.folders import schema_file
from labkit.solutions.folders.folder import SolutionFolder, read
from labkit.solutions.folders.scripts import endpoints
from labkit.solutions.handlers import Handler
from labkit.solutions.web import web_settings
from labkit.solutions.web.documentation import document
from labkit.solutions.web.documentation_pages import PAGE, SOURCE, page
from labkit.solutions.web.routes import Route
from labkit.solutions.web.web_settings import WebSettings
from tests.cases import cases

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(
    each
    for parent in ("notebooks/solutions", "labkit/conformance/fixtures/solutions")
    for each in (ROOT / parent).iterdir()
    if each.is_dir()
)
ID = {"name": "id", "in": "path", "required": True, "type": "integer"}
HANDLER: Handler = None  # type: ignore[assignment]  # none runs here


def routes_of(text: str) -> list[Route]:
    return [
        Route(each.method, each.path, HANDLER, each.content_type, tags=each.tags)
        for each in endpoints("a.lua", text)
    ]


def made(
    routes: Iterable[Route], schema: object = None, settings: WebSettings | None = None
) -> dict[str, Any]:
    """Return a document that the library accepts, after a way through JSON, and make the page of it."""
    found = document(
        "acme",
        "acme.apps.lab.localhost:8443",
        routes,
        settings or WebSettings(),
        schema_file.checked("schema.yml", schema),
    )
    text, kind = page(SOURCE, found)
    parsed: dict[str, Any] = json.loads(text)
    assert kind == "application/json"
    assert [error.message for error in OpenAPIV2SpecValidator(parsed).iter_errors()] == []
    assert page(PAGE, found)[0].startswith(b"<!doctype html>")
    return parsed


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.name)
def test_the_documents_of_all_example_folders_are_valid(path: Path) -> None:
    folder: SolutionFolder = read(path)
    routes = [
        Route(each.method, each.path, HANDLER, each.content_type, tags=each.tags) for each in folder.endpoints
    ]
    paths = made(routes, folder.schema, web_settings.read(folder.configuration))["paths"]
    shown = {*web_settings.read(folder.configuration).documented_endpoints}
    described = [
        route
        for route in routes
        if route.method != "WEBSOCKET" and (not shown or {*shown} & {*route.tags.tags})
    ]
    operations = [method for entry in paths.values() for method in entry if method in schema_file.METHODS]
    assert len(operations) >= len(described)


def test_routes_with_odd_paths_and_one_shape() -> None:
    text = """--#ENDPOINT GET /a/{b}
--#ENDPOINT PUT /a/{other-name:é}/ text/plain
--#ENDPOINT POST /a/{b}/c/{d} application/x-www-form-urlencoded
--#ENDPOINT DELETE //a//{x}
--#ENDPOINT GET /
--#ENDPOINT GET /%C3%A9/a%20b
--#ENDPOINT WEBSOCKET /socket
"""
    paths = made(routes_of(text))["paths"]
    assert {path: [*entry] for path, entry in paths.items()} == {
        "/": ["get"],
        "/%C3%A9/a%20b": ["get"],
        "/a/{x}": ["delete", "get", "put"],
        "/a/{b}/c/{d}": ["post"],
    }
    assert [each["name"] for each in paths["/a/{x}"]["put"]["parameters"]] == ["x", "body"]
    assert paths["/a/{b}/c/{d}"]["post"]["consumes"] == ["application/x-www-form-urlencoded"]


@cases(
    "schema",
    [
        None,
        {},
        {"paths": None, "definitions": {}},
        {"paths": {"/a/{id}": None, "/b": {"get": None, "x-note": 1}}},
        {"paths": {"/a/{id}": {"get": {"responses": {200: {"description": "yes"}}}}}},
        {"paths": {"/a/{id}": {"get": {"parameters": [ID]}}}},
        {"paths": {"/a/{b}": {"put": {"parameters": [{"name": "given", "in": "body", "schema": {"type": "object"}}]}}}},
        {"paths": {"/a/{b}": {"put": {"parameters": [{"name": "f", "in": "formData", "type": "string"}]}}}},
        {
            "parameters": {"id": {"name": "b", "in": "path", "required": True, "type": "string"}},
            "paths": {"/a/{b}": {"parameters": [{"$ref": "#/parameters/id"}], "patch": {}}},
        },
        {"info": {"title": "Ours", "license": {"name": "MIT"}}, "tags": [{"name": "doors"}], "host": "elsewhere"},
        {"definitions": {"A": {"type": "object", "properties": {"b": {"$ref": "#/definitions/A"}}}}},
    ],
)  # fmt: skip
def test_what_schemas_say_is_merged_into_a_valid_document(schema: Any) -> None:
    found = made(routes_of("--#ENDPOINT GET /a/{b}\n--#ENDPOINT PUT /a/{b}\n"), schema)
    assert {"get", "put"} <= found["paths"]["/a/{b}"].keys()
    assert found["host"] == "acme.apps.lab.localhost:8443"


@cases(
    ("schema", "error"),
    [
        ([], "schema.yml: "),
        ({"paths": []}, "schema.yml: paths: "),
        ({"paths": {"/a": 5}}, "schema.yml: paths./a: "),
        ({"paths": {"/a": {"get": []}}}, "schema.yml: paths./a.get: "),
        ({"paths": {"/a": {"get": {"parameters": ["x"]}}}}, "schema.yml: paths./a.get.parameters[0]: "),
        (
            {"paths": {"/a": {"get": {"responses": {"200": "yes"}}}}},
            "schema.yml: paths./a.get.responses.200: ",
        ),
        ({"definitions": {"A": None}}, "schema.yml: definitions.A: "),
    ],
)
def test_a_schema_of_another_form_is_refused_with_its_key(schema: Any, error: str) -> None:
    with pytest.raises(SettingsError) as found:
        schema_file.checked("schema.yml", schema)
    assert str(found.value).startswith(error)


def test_values_of_yaml_that_json_does_not_have() -> None:
    text = "info: {x-a: 2026-01-02, x-b: .nan, x-5: {5: [!!set {a}]}, x-c: 2026-01-02T03:04:05Z}\n"
    found = made([], yaml.safe_load(text))["info"]
    assert (found["x-a"], found["x-b"], found["x-5"]) == ("2026-01-02", None, {"5": [["a"]]})
    assert found["x-c"].startswith("2026-01-02T03:04:05")


def test_a_schema_that_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["definitions"] = endless
    with pytest.raises(SettingsError, match="deep"):
        schema_file.checked("schema.yml", endless)


def test_definitions_of_credentials_in_both_forms_of_openapi() -> None:
    schemes = {
        "a": {"type": "http", "scheme": "bearer"},
        "b": {"type": "apiKey", "name": "X-B", "in": "header"},
        "c": {"type": "oauth2", "flow": "implicit"},
    }
    settings = web_settings.read(
        {"webservice": {"security_schemes": schemes, "security": "b", "rate_limit": 5}}
    )
    found = made(routes_of("--#ENDPOINT GET /a\n"), settings=settings)
    assert found["securityDefinitions"]["apiKey"] == {"type": "apiKey", "name": "X-B", "in": "header"}
    assert found["securityDefinitions"]["c"]["type"] == "apiKey"
    assert found["paths"]["/a"]["get"]["security"] == [{"apiKey": []}]
    assert sorted(found["paths"]["/a"]["get"]["responses"]) == ["200", "401", "429"]


def test_a_wrong_schema_file_is_an_error_of_the_folder_beside_others(tmp_path: Path) -> None:
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints" / "schema.yml").write_text("paths: [a]")
    (tmp_path / "endpoints" / "a.lua").write_text("--#ENDPOINT FETCH /a")
    with pytest.raises(SettingsError) as found:
        read(tmp_path)
    assert [text.partition(": ")[2].partition(": ")[0] for text in found.value.parts] == [
        "endpoints/a.lua:1",
        "endpoints/schema.yml",
    ]
