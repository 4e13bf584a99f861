"""lab.yaml: read, checked, with its file names made relative to it."""

from __future__ import annotations

from pathlib import Path

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import read_yaml
from labkit.settings.lab import LabSettings, unique, wire_of
from labkit.settings.notebooks import find
from labkit.settings.validation import build, line_of


def load(path: str | Path) -> LabSettings:
    """Read a lab.yaml. File names in it are relative to it, or to labkit's own `notebooks/`. Raises SettingsError."""
    file = Path(path)
    values, lines = read_yaml(file)
    settings = build(LabSettings, values, "", lines)
    wire_of(settings, lines)
    return _anchored(settings, file.parent, lines)


def _anchored(settings: LabSettings, folder: Path, lines: dict[str, int]) -> LabSettings:
    """`settings` with file names made relative to the settings file, and seen to be there."""

    def anchor(name: Path, key: str) -> Path:
        path = find(name, folder)
        if not path.exists():
            raise SettingsError(f"{key}: no such file or folder: {name}{line_of(lines, key)}")
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
    unique(result, lines)
    return result
