"""Load shapes as plain data for another process: `{"kind": "Ramp", "first": 0, "last": 10, "over": 60}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from labkit.core.errors import LabError, OwnProcessError, unknown
from labkit.fleet.shapes import DailyWave, Flat, Herd, Ramp, Scaled, Shape, Steps, Sum

KINDS: Mapping[str, type[Any]] = {
    each.__name__: each for each in (DailyWave, Flat, Herd, Ramp, Scaled, Steps, Sum)
}
KEY = "kind"  # key of the kind's name
DEEPEST = 20  # nested shapes


def shape_data(shape: Shape) -> dict[str, Any]:
    """Return a shape as plain data: input of `shape_of`. Raises OwnProcessError for a shape that labkit lacks."""
    kind = type(shape)
    if KINDS.get(kind.__name__) is not kind:
        raise OwnProcessError(
            f"{kind.__name__}: a shape of your own needs the lab's own process: make it here with Lab(…), or use "
            f"one of {', '.join(KINDS)}"
        )
    values = {each.name: _plain(getattr(shape, each.name)) for each in fields(kind) if each.init}
    return {KEY: kind.__name__, **values}


def shape_of(data: Mapping[str, Any], depth: int = 0) -> Shape:
    """Return the shape of plain data. Raises LabError for anything else. depth: number of shapes around it."""
    if depth > DEEPEST:
        raise LabError(f"shape: expected at most {DEEPEST} shapes in each other")
    values = dict(data)
    kind = KINDS.get(name := str(values.pop(KEY, None)))
    if kind is None:
        raise LabError(unknown("shape", name, KINDS))
    made: Shape = kind(**{key: _value(key, each, depth) for key, each in values.items()})
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Shape):
        return shape_data(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):  # of Steps; the keys of JSON are texts
        return [[time, level] for time, level in value.items()]
    return value


def _value(name: str, value: Any, depth: int) -> Any:
    if name == "shape":
        return _shape(value, depth)
    if name == "shapes" and isinstance(value, Sequence):
        return tuple(_shape(each, depth) for each in value)
    if name == "levels" and isinstance(value, Sequence):
        if not all(isinstance(each, list) and len(each) == 2 for each in value):
            raise LabError(f"levels: expected pairs of a second and a number, not {value!r:.100}")
        return {time if isinstance(time, int | float) else repr(time): level for time, level in value}
    return value


def _shape(data: Any, depth: int) -> Shape:
    if not isinstance(data, Mapping):
        raise LabError(f"shape: expected such as {{'{KEY}': 'Flat', 'value': 5}}, not {data!r:.100}")
    return shape_of(data, depth + 1)
