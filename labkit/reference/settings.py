"""Reference of lab.yaml, and its JSON Schema for editors, from the models that check it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from labkit.core.keywords import Doc
from labkit.reference.entry import ReferenceEntry, ReferencePage, explained, prose
from labkit.settings import PROFILES, FaultSettings, LabSettings, Wire

SCHEMA = "https://json-schema.org/draft/2020-12/schema"
FIRST = "1.0"  # the version that has every key which says nothing else
INTRO = """Keys of lab.yaml, the settings of a lab. In a cell they are arguments: `Lab(https_port=8443)`. An editor that
knows JSON Schema completes and checks the file: write the schema with `labkit docs --schema > lab.schema.json`, and put
`# yaml-language-server: $schema=lab.schema.json` on the first line of lab.yaml."""


@cache
def schema() -> Mapping[str, Any]:
    """Return the JSON Schema of lab.yaml, with the description of each key."""
    made = LabSettings.model_json_schema()
    wire = Wire.model_json_schema()
    for each in wire["properties"].values():
        each.pop("default", None)
    wire.pop("required", None)
    made["$defs"] |= {**wire.pop("$defs", {}), "Wire": wire}
    made["properties"]["wire"] = {"$ref": "#/$defs/Wire", "default": {}}
    for name, model in models().items():
        found = made if name == LabSettings.__name__ else made["$defs"][name]
        for key, text in meanings(model).items():
            found["properties"][key]["description"] = text
    return {"$schema": SCHEMA, **made, "title": "lab.yaml"}


@cache
def models() -> Mapping[str, type[BaseModel]]:
    """Return the models of lab.yaml and of its sections, by name."""
    found: dict[str, type[BaseModel]] = {"Wire": Wire}
    waiting: list[Any] = [LabSettings]
    while waiting:
        annotation = waiting.pop()
        if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
            if annotation.__name__ not in found:
                found[annotation.__name__] = annotation
                waiting += [each.annotation for each in annotation.model_fields.values()]
        else:
            waiting += get_args(annotation)
    return found


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the meaning of each key of a model, from its `Doc` or from the docstring of the model."""
    found = dict(explained(inspect.getdoc(model) or "", model.model_fields))
    for name, field in model.model_fields.items():
        if doc := _doc(field):
            found[name] = doc.text
    return found


def _doc(field: FieldInfo) -> Doc | None:
    return next((each for each in field.metadata if isinstance(each, Doc)), None)


# --- pages --------------------------------------------------------------------------------------------------


def pages() -> Iterator[ReferencePage]:
    """Yield a page for the keys of lab.yaml itself, and one for each section that is a mapping or a list of such."""
    yield ReferencePage(
        "reference/settings/lab-yaml", "lab.yaml", INTRO, tuple(_entries(LabSettings, "", deep=False))
    )
    for key, field in LabSettings.model_fields.items():
        model = Wire if key == "wire" else _section(field.annotation)
        if model is not None and model is not FaultSettings:  # faults have a part of their own
            entries = tuple(_entries(model, "wire." if model is Wire else _prefix(key, field.annotation)))
            yield ReferencePage(f"reference/settings/{key}", key, prose(inspect.getdoc(model) or ""), entries)


def _entries(model: type[BaseModel], prefix: str, *, deep: bool = True) -> Iterator[ReferenceEntry]:
    texts = meanings(model)
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        yield ReferenceEntry(
            "setting", key, _body(model, name, texts.get(name, ""), model is Wire), (key.replace("[]", ""),)
        )
        section = _section(field.annotation)
        if deep and section is not None and section is not model:
            yield from _entries(section, _prefix(key, field.annotation))


def _prefix(key: str, annotation: Any) -> str:
    """Return the beginning of the names of the keys below a key: `products[].`, or `guard.`"""
    is_list = any(
        getattr(each, "__origin__", None) in (list, tuple) for each in (annotation, *get_args(annotation))
    )
    is_mapping = any(
        getattr(each, "__origin__", None) is dict for each in (annotation, *get_args(annotation))
    )
    return f"{key}[]." if is_list else f"{key}.<name>." if is_mapping else f"{key}."


def _section(annotation: Any) -> type[BaseModel] | None:
    """Return the first model in an annotation."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section, get_args(annotation))), None)


def _body(model: type[BaseModel], name: str, text: str, is_switch: bool) -> str:
    whole = schema()
    found = whole if model is LabSettings else whole["$defs"][model.__name__]
    key, field = found["properties"][name], model.model_fields[name]
    doc = _doc(field)
    if is_switch:
        default = "; ".join(f"{_default(getattr(wire, name))} in {each}" for each, wire in PROFILES.items())
    elif name in found.get("required", []):
        default = "none: it is required"
    else:
        default = _default(key.get("default"))
    return "\n".join(
        [
            prose(text[:1].upper() + text[1:] + "."),
            "",
            f"- Type: {shown_type(key)}",
            f"- Default: {default}",
            f"- Since: {doc.since if doc else FIRST}",
        ]
    )


def _default(value: Any) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, Mapping) and value:
        return "those of its keys"
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def shown_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a key in words, from its JSON Schema."""
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(shown_type(each) for each in schema["anyOf"] if each.get("type") != "null")
        )
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{each}`" for each in schema.get("enum", [schema.get("const")]))
    match schema.get("type"):
        case "array":
            return f"list of: {shown_type(schema['items'])}" if "items" in schema else "list"
        case "string":
            return {"path": "path", "password": "secret text"}.get(schema.get("format", ""), "text")
        case "integer":
            return f"whole number{_range(schema)}"
        case "number":
            return f"number{_range(schema)}"
        case "boolean":
            return "`true` or `false`"
        case None if "$ref" not in schema:
            return "any value"
    return "mapping"


def _range(schema: Mapping[str, Any]) -> str:
    least, above, most = (schema.get(each) for each in ("minimum", "exclusiveMinimum", "maximum"))
    bounds = [
        f"above {above}" if above is not None else "",
        f"from {least}" if least is not None and abs(least) < 1e300 else "",
        f"up to {most:.15g}" if most is not None and most < 1e300 else "",
    ]
    shown = " ".join(filter(None, bounds))
    return f", {shown}" if shown else ""
