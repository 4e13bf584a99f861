"""The parameters of a notebook: read from its cell tagged `parameters`, and checked before anything runs.

papermill itself only warns of a name that the notebook does not know, and runs on with the default.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode

from labkit.core.errors import LabkitError

TAG = "parameters"
INJECTED = "injected-parameters"  # papermill's own cell of what was given


class ParameterError(LabkitError):
    """A parameter that a notebook does not have, or a value of another type than its default."""


def is_parameters(cell: NotebookNode) -> bool:
    """Does the cell give parameters, by default or as papermill adds them?"""
    return bool({TAG, INJECTED} & set(cell.metadata.get("tags", [])))


def declared(notebook: NotebookNode, name: str) -> dict[str, Any]:
    """The parameters of a notebook with their defaults; none if it has no cell tagged `parameters`.

    name: what errors call it. Raises ParameterError where that cell holds more than `name = literal` lines.
    """
    cells = [cell for cell in notebook.cells if TAG in cell.metadata.get("tags", [])]
    if not cells:
        return {}
    if len(cells) > 1:
        raise ParameterError(f"{name}: {len(cells)} cells are tagged {TAG!r}, one may be")
    defaults: dict[str, Any] = {}
    for statement in _parsed(cells[0].source, name):
        match statement:
            case ast.Assign(targets=[ast.Name(id=variable)], value=value):
                defaults[variable] = _literal(value, variable, name)
            case ast.AnnAssign(target=ast.Name(id=variable), value=ast.expr() as value):
                defaults[variable] = _literal(value, variable, name)
            case _:
                raise ParameterError(
                    f"{name}: {ast.unparse(statement)!r} in the cell tagged {TAG!r} is no parameter: "
                    f"want `name = value`"
                )
    return defaults


def checked(given: Mapping[str, Any], defaults: Mapping[str, Any], name: str) -> dict[str, Any]:
    """`given`, once each is known and has the type of its default. Raises ParameterError otherwise.

    A default of None takes any value; a number with a fraction takes a whole one.
    """
    for parameter, value in given.items():
        if parameter not in defaults:
            raise ParameterError(f"{name}: unknown parameter {parameter!r}; {_known(defaults)}")
        default = defaults[parameter]
        kind = type(default)
        fits = default is None or type(value) is kind or (kind is float and type(value) is int)
        if not fits:
            raise ParameterError(
                f"{name}: parameter {parameter!r} wants {kind.__name__}, as its default {default!r} is; "
                f"{value!r} is {type(value).__name__}"
            )
    return dict(given)


def converted(text: str, default: object, parameter: str) -> Any:
    """A value typed at a terminal, as the type of the default: text as it is, all else in JSON (`7`, `true`).

    Raises ParameterError where it is none.
    """
    if isinstance(default, str):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        if default is None:
            return text
        raise ParameterError(
            f"parameter {parameter!r} wants {type(default).__name__}; {text!r} is none"
        ) from None
    return value


def _parsed(source: str, name: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        raise ParameterError(f"{name}: the cell tagged {TAG!r} is not Python: {error.msg}") from None


def _literal(value: ast.expr, variable: str, name: str) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        raise ParameterError(f"{name}: the default of parameter {variable!r} is not a literal") from None


def _known(defaults: Mapping[str, Any]) -> str:
    return f"there are: {', '.join(defaults)}" if defaults else "it has none"
