"""Faults of the queries of Timeseries."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from typing import Any

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch

MOMENT = "labkit.services.timeseries.statements:Moment.at"
ACCEPTS = "labkit.services.timeseries.conditions:Filter.accepts"
PERCENTILE = "labkit.services.series.summaries:Summary.percentile"

an_hour_off = patch("TSER-QUERY-2", MOMENT, "times of conditions are an hour late")(
    change_result(lambda at: at + 3600 * 10**9)
)
never_now = patch("TSER-QUERY-2", MOMENT, "now() is 1970")(change_arguments(now=0))
all_tags = patch("TSER-QUERY-2 TSER-CMD-1", ACCEPTS, "conditions on tags are ignored")(
    change_result(lambda _: True)
)
too_early = patch(
    "TSER-QUERY-9",
    "labkit.services.timeseries.transformations:Transformation.apply",
    "a change has the time of its first point",
)(change_result(lambda found: [(time - 10**6, value) for time, value in found]))
population = patch(
    "TSER-QUERY-3",
    "labkit.services.series.summaries:Summary.deviation",
    "the standard deviation is that of a population",
)(change_result(lambda found: None if found is None else found * 0.75**0.5))
always_computed = patch(
    "TSER-QUERY-10", "labkit.services.timeseries.arithmetic:compute", "a column without a value is 0"
)(change_result(lambda value: 0 if value is None else value))
smallest = patch("TSER-QUERY-3", PERCENTILE, "each percentile is the smallest number")(
    change_arguments(percent=20)
)
whole_values = patch(
    "TSER-WRITE-1", "labkit.services.timeseries.lines:checked_value", "whole numbers are stored as doubles"
)(change_result(lambda value: float(value) if type(value) is int else value))
tagged_only = patch("TSER-QUERY-2 TSER-QUERY-5", ACCEPTS, "a series without tags is left out")(
    lambda original, self, tags: bool(tags) and original(self, tags)
)
whole_multiples = patch(
    "TSER-QUERY-4",
    "labkit.services.series.summaries:TimeIntervals.start",
    "intervals begin at whole multiples, whatever their offset",
)(lambda original, self, time, window: original(replace(self, offset=0), time, window))


@patch("TSER-QUERY-11", "labkit.solutions.lua.runtime:LuaState.library", alone=True, from_start=True)
def tables_alone(original: Any, self: Any, name: str | bytes) -> Any:
    """a text as the only argument raises"""
    if name not in ("services", b"services"):
        return original(self, name)
    source = files("labkit.solutions.lua").joinpath("prelude", "services.lua").read_bytes()
    return self._lua.compile(source.replace(b"Timeseries", b"None"), name=b"@services")
