"""Keyword arguments that are declared once, in a typed dictionary beside the model that checks them.

    class BulbKeywords(TypedDict, total=False):
        watts: float | None

    class Bulb(Model):
        watts: Annotated[float, Doc("electrical power")] = 40.0

    @shows_keywords(BulbKeywords, Bulb)
    def bulb(self, name: str, **settings: Unpack[BulbKeywords]) -> None: ...

Type checkers understand `Unpack`. IPython would show and complete `**settings` alone, so the decorator gives the
function a signature and a docstring that have each keyword.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from textwrap import fill
from typing import Any, ForwardRef, Literal, TypeVar, get_args, get_origin

F = TypeVar("F", bound=Callable[..., object])

WIDTH = 110  # characters of a line


@dataclass(frozen=True)
class Doc:
    """Description of a key of a model, in its `Annotated`: a phrase without a full stop.

    since: first version of labkit that has the key.
    """

    text: str
    since: str = "1.0"

    def __get_pydantic_json_schema__(
        self, schema: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the JSON Schema of the key, with this description."""
        return {**handler(schema), "description": self.text}


def shows_keywords(keywords: type, model: type | None = None) -> Callable[[F], F]:
    """Return a decorator that shows the keywords of a function whose last parameter is `**x: Unpack[keywords]`.

    The function's signature gets each keyword, with its default in a dataclass `model`, else None. Its docstring gets a
    list of the arguments that `model` describes by `Doc`; without a model it describes them itself.
    """
    defaults = {each.name: each.default for each in fields(model)} if is_dataclass(model) else {}
    described = {} if model is None else descriptions(model)
    module = vars(sys.modules[keywords.__module__])

    def decorate(function: F) -> F:
        shown = inspect.signature(function)
        own = [each for each in shown.parameters.values() if each.kind is not each.VAR_KEYWORD]
        named = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name),
                annotation=_spelled(each.__forward_arg__, module) if isinstance(each, ForwardRef) else each,
            )
            for name, each in keywords.__annotations__.items()
        ]
        shown = shown.replace(parameters=[*own, *named])
        vars(function)["__signature__"] = shown
        entries = {name: described[name] for name in shown.parameters if name in described}
        return lists(entries)(function) if entries else function

    return decorate


def _spelled(annotation: str, names: Mapping[str, Any]) -> str:
    """Return an annotation in which the values stand that a named Literal allows."""

    def values(match: re.Match[str]) -> str:
        named = names.get(match[0])
        return str(named).removeprefix("typing.") if get_origin(named) is Literal else match[0]

    return re.sub(r"\b[A-Z]\w*", values, annotation)


def lists(entries: Mapping[str, str], heading: str = "Arguments") -> Callable[[F], F]:
    """Return a decorator that appends a list to a docstring: under the heading a line `name: description` each."""
    lines = [_entry(f"{name}: {text}") for name, text in entries.items()]

    def decorate(function: F) -> F:
        written = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = "\n".join([f"{written}\n\n{heading}:", *lines]).lstrip()
        return function

    return decorate


def _entry(text: str) -> str:
    """Return an entry of a list in lines, none of which ends within code, which the book would not show as code."""
    kept = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    shown = fill(
        kept,
        WIDTH,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return shown.replace("\0", " ")


def descriptions(model: type) -> dict[str, str]:
    """Return the `Doc` of each key of a model or dataclass that has one, with the keys of a model below it."""
    annotations: dict[str, Any] = inspect.get_annotations(model, eval_str=True)
    return {
        name: each.text + (f" ({', '.join(keys)})" if (keys := _model_keys(annotation)) else "")
        for name, annotation in annotations.items()
        for each in getattr(annotation, "__metadata__", ())
        if isinstance(each, Doc)
    }


def _model_keys(annotation: Any) -> list[str]:
    """Return the keys of the first model in an annotation."""
    if hasattr(annotation, "model_fields"):
        return [*annotation.model_fields]
    return next(filter(None, map(_model_keys, get_args(annotation))), [])
