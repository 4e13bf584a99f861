"""Faults of the queries of Timeseries."""

from __future__ import annotations

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch

MOMENT = "labkit.services.timeseries.statements:Moment.at"
ACCEPTS = "labkit.services.timeseries.conditions:Filter.accepts"
PERCENTILE = "labkit.services.series.summaries:Summary.percentile"

an_hour_off = patch(
    "TSER-QUERY-2",
    MOMENT,
    "times of conditions are an hour late",
    change_result(lambda at: at + 3600 * 10**9),
)
never_now = patch("TSER-QUERY-2", MOMENT, "now() is 1970", change_arguments(now=0))
all_tags = patch(
    "TSER-QUERY-2 TSER-CMD-1", ACCEPTS, "conditions on tags are ignored", change_result(lambda _: True)
)
smallest = patch(
    "TSER-QUERY-3", PERCENTILE, "each percentile is the smallest number", change_arguments(percent=20)
)
