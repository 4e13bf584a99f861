"""How much of what devices wrote is kept."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labkit.settings.values import Model


class DatapointSettings(Model):
    """How many datapoints are kept.

    kept: the newest of each alias of a device, and up to a tenth more; older ones are forgotten. At least 100, so that
    what was recorded ahead of its time, by a minute at most, never forces the current value out.
    """

    kept: Annotated[int, Field(strict=True, ge=100)] = 10_000
