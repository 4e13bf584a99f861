"""Names of argument types in a script author's terms, for listings, help and completion."""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any

from pydantic_core import PydanticUndefined


def type_name(annotation: Any) -> str:
    """Return a type's name for a script author: accepted input types, fields of records, the plain type of a secret."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        accepted = [getattr(each, "json_schema_input_type", Any) for each in inner[1:]]
        return type_name(next((each for each in accepted if each not in (Any, PydanticUndefined)), inner[0]))
    if origin in (typing.Union, types.UnionType):
        return " | ".join(type_name(each) for each in inner)
    if fields := getattr(annotation, "model_fields", getattr(annotation, "__dataclass_fields__", None)):
        return f"{{{', '.join(fields)}}}"
    name = "None" if annotation is type(None) else getattr(origin or annotation, "__name__", str(annotation))
    if name == "SecretStr":
        return "str"
    if name.startswith("Secret"):
        generic = getattr(annotation, "__pydantic_generic_metadata__", {}).get("args") or inner
        return type_name(generic[0])
    name = {"Sequence": "list", "tuple": "list", "Mapping": "dict"}.get(name, name)
    shown = [type_name(each) for each in inner if each is not Ellipsis]
    return f"{name}[{', '.join(shown)}]" if shown else name


class _TypeName(str):
    """Type name that a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def with_type_names(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature whose annotations are shown as by `type_name`."""
    shown = [
        each.replace(annotation=_TypeName(type_name(each.annotation)))
        for each in signature.parameters.values()
    ]
    return signature.replace(parameters=shown)
