"""Model check of Tsdb: values of a few metrics in two solutions, written and read in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance.check import model_check

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


@model_check(
    "TSDB-WRITE-1 TSDB-WRITE-5 TSDB-QUERY-1 TSDB-QUERY-2 TSDB-QUERY-5 TSDB-QUERY-6 TSDB-LIST-1 "
    "TSDB-LIST-2 TSDB-KEEP-1",
    "values of two solutions, written and read in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of Tsdb."""
    from labkit.conformance.tsdb.series.series import Series

    return Series
