"""Settings of the section `datapoints`: retention of the values that devices write."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labkit.settings.values import Model


class DatapointSettings(Model):
    """Number of datapoints kept.

    kept: number of the newest datapoints kept for each alias of a device (and up to a tenth more). At least
    100, so that recorded values with a future timestamp, of at most a minute ahead, never displace the current value.
    """

    kept: Annotated[int, Field(strict=True, ge=100)] = 10_000
