"""Arguments of a lab and of its methods, checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.core.errors import LabError
from labkit.core.handle import warn
from labkit.lab.product import Product
from labkit.settings import LabSettings, build, load


def product_id(product: object) -> str:
    """Return the id of a product that is given itself or by its id. Raises LabError for anything else."""
    if isinstance(product, Product):
        return product.id
    if isinstance(product, str):
        return product
    raise LabError(f"products: expected products or their ids, not {product!r}")


def check_seed_and_speed(seed: object, speed: object) -> None:
    """Check the arguments of a lab. Raises LabError if `seed` is not a whole number, or `speed` not a number."""
    if isinstance(seed, Path) or (isinstance(seed, str) and seed.endswith((".yaml", ".yml"))):
        raise LabError(f"seed: expected a whole number; for a settings file use Lab(config={str(seed)!r})")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise LabError(f"seed: expected a whole number, not {seed!r}")
    if speed is not None and (isinstance(speed, bool) or not isinstance(speed, int | float)):
        raise LabError(f"speed: expected lab seconds per real second, 0 for the virtual clock, not {speed!r}")


def lab_settings(config: str | Path | LabSettings | None, settings: Mapping[str, Any]) -> LabSettings:
    """Return the settings of a lab.

    config: a file of settings, or settings; settings: replace those of the same name. Raises SettingsError.
    """
    overridden = {"https_port": 0, **settings}  # in a notebook, several labs may load one file
    named = build(LabSettings, overridden, "")
    if config is None:
        return named
    loaded = config if isinstance(config, LabSettings) else load(config)
    port = loaded.https_port
    is_given = "https_port" in loaded.model_fields_set and "https_port" not in settings
    if is_given and port and loaded is not config:
        warn(
            f"{config}: https_port {port} is for `labkit serve`; this lab listens at any free port, unless "
            f"https_port={port} is an argument of Lab"
        )
    return loaded.model_copy(update={name: getattr(named, name) for name in overridden})
