"""Faults of what the configuration files of services do."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch

NEXT, TIMER = "labkit.services.timer.service:next_moment", "labkit.services.timer.service:TimerService"
DAY = 86_400_000_000  # microseconds

sundays = patch("SOL-CONFIG-1", NEXT, "weeks begin on Sunday")(
    lambda original, kind, anchor, after: original(kind, anchor - DAY * (kind == "weekly"), after)
)
equal_months = patch("SOL-CONFIG-3", NEXT, "a month has 30 days")(
    lambda original, kind, anchor, after: (
        after + 30 * DAY if kind == "monthly" else original(kind, anchor, after)
    )
)
keeps_all = patch(
    "SOL-CONFIG-4", "labkit.services.series.store:SeriesStore.expire", "points of any age stay"
)(always(set()))
same_for_all = patch(
    "SOL-CONFIG-4", "labkit.services.tsdb.service:TsdbFile.oldest", "all metrics have the default retention"
)(lambda original, self, metric, now: original(self, "", now))
no_rate = patch("SOL-CONFIG-5", "labkit.solutions.web.admission:RateLimits.wait", "rates have no effect")(
    always(0)
)
no_headers = patch(
    "SOL-CONFIG-6", "labkit.solutions.site:SolutionSite.complete", "answers lack the configured headers"
)(always(None))
no_cors = patch(
    "SOL-CONFIG-6", "labkit.solutions.web.web_settings:read", "cors of webservice.yaml has no effect"
)(lambda original, given: original(given).model_copy(update={"cors": None}))


@patch("SOL-CONFIG-2", f"{TIMER}.cancel_timer")
async def never_off(original: Any, self: Any, solution: str, timer_id: str) -> None:
    """a schedule that is off in the file goes on"""
    if not timer_id.startswith("schedule."):
        await original(self, solution, timer_id)
