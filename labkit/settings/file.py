"""Reader of lab.yaml: checks the settings, and resolves the file names in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import read_yaml
from labkit.settings.lab import LabSettings, check_names, merge_wire
from labkit.settings.notebooks import resolve
from labkit.settings.overlay import add_faults, set_values
from labkit.settings.validation import build, line_suffix


def load(
    path: str | Path | None, *, assignments: Iterable[str] = (), faults: Iterable[str] = ()
) -> LabSettings:
    """Return the settings in a lab.yaml; None is an empty one in the current folder.

    File names in it are relative to its folder; `notebooks/…` may also be labkit's own notebooks. assignments: changes
    of values, `products.0.auth=token`; faults: further ones, `GET /timestamp status=503` (labkit.settings.overlay).
    Raises SettingsError for an invalid setting, and for a file that does not exist.
    """
    file = None if path is None else Path(path)
    values, lines = ({}, {}) if file is None else read_yaml(file)
    values = add_faults(set_values(values, assignments, lines), faults, lines)
    settings = build(LabSettings, values, "", lines)
    merge_wire(settings, lines)
    return _anchored(settings, Path() if file is None else file.parent, lines)


def _anchored(settings: LabSettings, folder: Path, lines: dict[str, int]) -> LabSettings:
    """Return settings with all file names resolved. Raises SettingsError if a file does not exist."""

    def anchor(name: Path, key: str) -> Path:
        path = resolve(name, folder)
        if not path.exists():
            raise SettingsError(f"{key}: no such file or folder: {name}{line_suffix(lines, key)}")
        return path

    products = tuple(
        product.model_copy(
            update={
                "content": tuple(
                    item.model_copy(update={"file": anchor(item.file, f"products[{n}].content[{m}].file")})
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
                    anchor(each, f"solutions[{n}].path" + (f"[{m}]" if len(solution.path) > 1 else ""))
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
            name: anchor(path, f"tls.{name}")
            for name in ("certificate", "private_key")
            if (path := getattr(settings.tls, name)) is not None
        }
    )
    result = settings.model_copy(
        update={"tls": tls, "products": products, "solutions": solutions, "data": data}
    )
    check_names(result, lines)
    return result
