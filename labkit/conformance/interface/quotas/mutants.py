"""Faults of quotas that no row can say."""

from __future__ import annotations

from labkit.conformance.breaking import Change, gives
from labkit.conformance.mutant import patch

QUOTA = "labkit.services.interface.subscribing:checked_quota"


def _more(count: int) -> Change:
    """Another quota is kept than was given."""
    return gives(lambda kept: {name: each and max(0, each + count) for name, each in kept.items()})


one_too_many = patch("IFC-QUO-2 IFC-QUO-3", QUOTA, "one call more than the quota is served", _more(1))
one_too_few = patch("IFC-QUO-2 IFC-QUO-3", QUOTA, "the last call of the quota is refused", _more(-1))
monthly_by_day = patch(
    "IFC-QUO-3",
    QUOTA,
    "calls_monthly counts by the day",
    gives(lambda kept: {"calls_daily": kept.pop("calls_monthly", None), **kept}),
)
years_alike = patch(
    "IFC-QUO-4",
    "labkit.services.interface.store:periods",
    "days and months of all years are the same",
    gives(lambda periods: {**periods, "day": periods["day"][5:], "month": periods["month"][5:]}),
)
