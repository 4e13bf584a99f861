"""Types of options that several commands share."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A range of finite numbers. Unlike FloatRange, it rejects `nan` and `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number
