"""What the journal keeps."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool

from labkit.settings.values import Model


class JournalSettings(Model):
    """How much the journal keeps, and of what.

    records: the most; the oldest goes first. field: characters of a summary or a text in a detail; a detail as a
    whole holds four times as many, and the rest is counted. per_run: records of one run of a handler, with what it
    calls; the rest is counted. values: show what is kept in a Keystore, not its
    lengths alone.
    """

    records: Annotated[int, Field(strict=True, ge=1)] = 200_000
    field: Annotated[int, Field(strict=True, ge=64)] = 4096
    per_run: Annotated[int, Field(strict=True, ge=1)] = 10_000
    values: StrictBool = False
