"""Validation of notebook parameters, which are declared in a cell tagged `parameters`, before a notebook runs.

Papermill itself only warns of a parameter that the notebook does not declare, and runs it all the same.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode

from labkit.core.errors import LabkitError

TAG = "parameters"
UNWATCHED = {
    "watched": False
}  # of each notebook that knows it: a run without people is short, and closes its lab
INJECTED = "injected-parameters"  # tag of papermill's cell with the given parameters


class ParameterError(LabkitError):
    """A parameter is not declared by the notebook, or its value has another type than its default."""


def is_parameters(cell: NotebookNode) -> bool:
    """Return whether a cell sets parameters: the notebook's own cell, or the one that papermill adds."""
    return bool({TAG, INJECTED} & set(cell.metadata.get("tags", [])))


def declared(notebook: NotebookNode, name: str) -> dict[str, Any]:
    """Return the parameters of a notebook with their defaults; none if it has no cell tagged `parameters`.

    name: of the notebook, for errors. Raises ParameterError if that cell has other statements than `name = literal`.
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
                    f"expected `name = value`"
                )
    return defaults


def check_values(given: Mapping[str, Any], defaults: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the given values. Raises ParameterError unless each is declared and has the type of its default.

    A default of None accepts any value; a default of type float accepts an int.
    """
    for parameter, value in given.items():
        if parameter not in defaults:
            raise ParameterError(f"{name}: unknown parameter {parameter!r}; {_known(defaults)}")
        default = defaults[parameter]
        kind = type(default)
        fits = default is None or type(value) is kind or (kind is float and type(value) is int)
        if not fits:
            raise ParameterError(
                f"{name}: parameter {parameter!r}: expected {kind.__name__}, like the default {default!r}; "
                f"{value!r} is {type(value).__name__}"
            )
    return dict(given)


def convert(text: str, default: object, parameter: str) -> Any:
    """Convert a value typed in a terminal: text stays text for a parameter of type str, else it is JSON (`7`, `true`).

    Raises ParameterError for invalid JSON, unless the default is None: then it stays text.
    """
    if isinstance(default, str):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        if default is None:
            return text
        raise ParameterError(
            f"parameter {parameter!r}: expected {type(default).__name__}, not {text!r}"
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
