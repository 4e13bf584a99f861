"""Settings of the section `journal`: how much the journal keeps."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool

from labkit.settings.values import Model


class JournalSettings(Model):
    """Limits of the journal.

    records: number of records kept; the oldest are overwritten. field: characters kept of a summary, and of each text
    in a detail; a whole detail may have four times as many. per_run: records kept of one run of a handler, including
    its service calls. What exceeds `field` or `per_run` is only counted. values: record the values in a Keystore, and
    the bodies of answers to devices and to clients of solutions, not only their lengths.
    """

    records: Annotated[int, Field(strict=True, ge=1)] = 200_000
    field: Annotated[int, Field(strict=True, ge=64)] = 4096
    per_run: Annotated[int, Field(strict=True, ge=1)] = 10_000
    values: StrictBool = False
