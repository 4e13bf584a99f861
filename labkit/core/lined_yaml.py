"""YAML files, read with the line that each key stands on, so that an error can name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from labkit.core.errors import SettingsError


def read_yaml(file: Path) -> tuple[Any, dict[str, int]]:
    """What a YAML file holds ({} if nothing), and the line of each key, for `build`. Raises SettingsError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)  # libyaml takes a tenth of the time
        try:
            node = loader.get_single_node()
            lines = _lines(node, "", ())  # before values are made, which writes merged keys into the nodes
            values = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        raise SettingsError(f"{file}: is not YAML: {getattr(error, 'problem', error)}{where}") from None
    except (ValueError, RecursionError) as error:  # a date that is none; brackets without end
        raise SettingsError(f"{file}: cannot be read: {error}") from None
    return ({} if values is None else values), lines


def _lines(node: yaml.Node | None, key: str, above: tuple[yaml.Node, ...]) -> dict[str, int]:
    """Where each key of a YAML document stands: `products[0].auth` → 1-based line.

    Raises SettingsError for a key that is given twice, of which YAML would take the second.
    """
    found: dict[str, int] = {}
    if node in above:  # an anchor that holds itself
        return found
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode):  # a list or a table, which YAML's own error tells of
                continue
            inner = f"{key}.{name.value}" if key else str(name.value)
            found[inner] = name.start_mark.line + 1
            if name.value in names:
                raise SettingsError(f"{inner}: is given twice (line {found[inner]})")
            names.add(name.value)
            found.update(_lines(value, inner, (*above, node)))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            found[f"{key}[{index}]"] = value.start_mark.line + 1
            found.update(_lines(value, f"{key}[{index}]", (*above, node)))
    return found
