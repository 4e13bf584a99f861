"""Faults of published limits."""

from __future__ import annotations

from dataclasses import replace

from labkit.conformance.breaking import always, change_result
from labkit.conformance.mutant import patch

no_rate = patch(
    "SOL-LIM-1 SOL-LIM-2", "labkit.solutions.web.admission:RateLimits.wait", "rates have no limit"
)(always(0))
few_rows = patch(
    "SOL-LIM-3 SOL-LIM-8", "labkit.services.tsdb.query:PointQuery.rows", "no query has more than 1000 rows"
)(change_result(lambda rows: rows[:1000]))
no_age = patch("SOL-LIM-4", "labkit.services.tsdb.service:TsdbFile.oldest", "points of any age stay")(
    always(None)
)
one_day = patch("SOL-LIM-5", "labkit.services.email:utc_day", "the day of the quota of mails does not end")(
    always(0)
)
no_new = patch(
    "SOL-LIM-6", "labkit.services.keystore.commands:CommandSpec.created", "commands add keys beyond the quota"
)(always([]))
another_name = patch("SOL-LIM-7", "labkit.solutions.scripted:run_limits", "an error names another limit")(
    change_result(lambda limits: replace(limits, cpu_setting=" (guard.script_cpu)"))
)
