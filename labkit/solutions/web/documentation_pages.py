"""Pages that a solution has without routes of its own: `/docs`, and the same as OpenAPI in JSON and in YAML.

The page is one file: it needs no script and no network.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from labkit.solutions.folders.schema_file import METHODS, Document, merged

if TYPE_CHECKING:
    from jinja2 import Template

PAGE, SOURCE, YAML = "/docs", "/swagger.json", "/swagger.yaml"
PAGES = (PAGE, SOURCE, YAML)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml needs a tenth of the time
TEMPLATES = Path(__file__).parent / "templates"
SHOWN = ("type", "format", "enum", "default", "items", "description", "schema", "$ref")


def page(path: str, document: Document) -> tuple[bytes, str]:
    """Return the content and the media type of one of PAGES. document: of the solution."""
    if path == SOURCE:
        return json.dumps(document, ensure_ascii=False, indent=2).encode(errors="replace"), "application/json"
    if path == YAML:
        source: str = yaml.dump(document, Dumper=DUMPER, allow_unicode=True, sort_keys=False)
        return source.encode(errors="replace"), "application/yaml"  # RFC 9512
    text = _template().render(
        info={"title": "", "version": "", "description": "", **document["info"]},
        source=SOURCE,
        operations=list(_operations(document)),
        definitions=[(name, _form(each)) for name, each in document.get("definitions", {}).items()],
    )
    return text.encode(errors="replace"), "text/html"


@cache  # for all labs of a process
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(TEMPLATES)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, auto_reload=False)
    return environment.get_template("docs.html")


def _operations(document: Document) -> Iterator[dict[str, object]]:
    """Yield each operation as the page shows it, by path and method."""
    known = {name: each for name, each in document.get("parameters", {}).items() if isinstance(each, Mapping)}
    for path, entry in sorted(document["paths"].items()):
        for method in METHODS:
            if method in entry:
                operation = entry[method]
                parameters = [*entry.get("parameters", []), *operation.get("parameters", [])]
                yield {
                    "method": method.upper(),
                    "path": path,
                    "summary": operation.get("summary", ""),
                    "description": operation.get("description", ""),
                    "tags": operation.get("tags", []),
                    "security": _credentials(operation.get("security")),
                    "parameters": [_parameter(each, known) for each in parameters],
                    "responses": [(status, _form(each)) for status, each in operation["responses"].items()],
                }


def _parameter(given: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    target = known.get(str(given.get("$ref", "")).rpartition("/")[2], {})
    whole = merged(target, given)
    form = {key: whole[key] for key in SHOWN if key in whole and (key != "$ref" or not target)}
    return {
        "name": whole.get("name", ""),
        "place": whole.get("in", ""),
        "required": whole.get("required", False),
        "form": _form(form),
    }


def _credentials(security: object) -> str:
    """Return the kinds of credentials that an operation takes, as text."""
    if not isinstance(security, list):
        return ""
    return " or ".join(
        " and ".join(map(str, each)) or "none" for each in security if isinstance(each, Mapping)
    )


def _form(value: object) -> str:
    """Return a description as text: the only text in it, or JSON."""
    if isinstance(value, Mapping):
        if [*value] == ["description"]:
            return str(value["description"])
        if not value:
            return "any"
    return json.dumps(value, ensure_ascii=False, indent=2)
