"""Reader of lab.yaml: checks the settings, and resolves the file names in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import read_yaml
from labkit.settings.lab import LabSettings, check_names, merge_wire
from labkit.settings.notebooks import resolve
from labkit.settings.overlay import add_faults, set_values
from labkit.settings.validation import build, key_text, line_suffix, listed, shown_key


def load(
    path: str | Path | None, *, assignments: Iterable[str] = (), faults: Iterable[str] = ()
) -> LabSettings:
    """Return the settings in a lab.yaml; None is an empty one in the current folder.

    File names in it are relative to its folder; `notebooks/…` may also be labkit's own notebooks. assignments: changes
    of values, `products.0.auth=token`; faults: further ones, `GET /timestamp status=503` (labkit.settings.overlay).
    Raises SettingsError for an invalid setting, and for a file that does not exist.
    """
    file = None if path is None else Path(path)
    told: list[str] = []  # mistakes
    values, lines = ({}, {}) if file is None else read_yaml(file, told)
    values = add_faults(set_values(values, assignments, lines), faults, lines)
    try:
        settings = build(LabSettings, values, "", lines)
    except SettingsError as error:
        if not told:
            raise
        told += error.parts
        raise SettingsError(listed(told), told) from None
    told += _told(merge_wire, settings, lines)
    settings = _anchored(settings, Path() if file is None else file.parent, lines, told)
    told += _told(check_names, settings, lines)
    if told:
        raise SettingsError(listed(told), told)
    return settings


def load_folder(folder: Path, assignments: Iterable[str] = (), faults: Iterable[str] = ()) -> LabSettings:
    """Return the settings of a lab with the solution of a folder and its product.

    The id of both is made of the letters and digits of the folder's name, from the first letter on, since the platform
    allows no others in the id of a solution that publishes a service.

    assignments, faults: as of `load`. Raises SettingsError as it does.
    """
    name = re.sub("^[^a-z]+|[^a-z0-9]", "", folder.resolve().name.lower())[:63] or "solution"
    solution = {"id": name, "path": str(folder.resolve()), "products": [name]}
    own = [f"products.0={json.dumps({'id': name})}", f"solutions.0={json.dumps(solution)}"]
    return load(None, assignments=[*own, *assignments], faults=faults)


def _told(
    check: Callable[[LabSettings, dict[str, int]], object], settings: LabSettings, lines: dict[str, int]
) -> Sequence[str]:
    """Return the mistakes that a check finds."""
    try:
        check(settings, lines)
    except SettingsError as error:
        return error.parts
    return ()


def _anchored(settings: LabSettings, folder: Path, lines: dict[str, int], told: list[str]) -> LabSettings:
    """Return settings with all file names resolved. told: gets a sentence about each file that does not exist."""

    def anchor(name: Path, *key: str | int) -> Path:
        path = resolve(name, folder)
        if not path.exists():
            where = line_suffix(lines, key_text(key))
            told.append(f"{shown_key(key, settings)}: no such file or folder: {name}{where}")
        return path

    products = tuple(
        product.model_copy(
            update={
                "content": tuple(
                    item.model_copy(update={"file": anchor(item.file, "products", n, "content", m, "file")})
                    for m, item in enumerate(product.content)
                )
            }
        )
        for n, product in enumerate(settings.products)
    )
    solutions = tuple(
        solution.model_copy(
            update={
                "path": tuple(
                    anchor(each, "solutions", n, "path", *((m,) if len(solution.path) > 1 else ()))
                    for m, each in enumerate(solution.path)
                )
            }
        )
        for n, solution in enumerate(settings.solutions)
    )
    data = settings.data
    if isinstance(data, str | Path) and "://" not in str(data):
        data = folder / data
    tls = settings.tls.model_copy(
        update={
            name: anchor(path, "tls", name)
            for name in ("certificate", "private_key")
            if (path := getattr(settings.tls, name)) is not None
        }
    )
    stubs = {
        name: anchor(stub, "stubs", name) if isinstance(stub, Path) else stub
        for name, stub in settings.stubs.items()
    }
    return settings.model_copy(
        update={"tls": tls, "products": products, "solutions": solutions, "data": data, "stubs": stubs}
    )
