"""Faults of quotas that no row can express."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance.breaking import Change, change_result
from labkit.conformance.mutant import patch

QUOTA = "labkit.services.interface.subscription_writer:checked_quota"


async def late(original: Any, self: Any, id: str, now: float) -> str | None:
    """Admit a call by the former count, and count it afterwards."""
    subscription = self.get(id)
    of_day, _ = await self.calls(id, now)
    await asyncio.sleep(0.01)
    await original(self, id, now)
    limit = subscription.quota.get("calls_daily")
    return "calls_daily" if limit is not None and of_day >= limit else None


def _more(count: int) -> Change:
    """Return a change that stores a higher or lower quota."""
    return change_result(lambda kept: {name: each and max(0, each + count) for name, each in kept.items()})


one_too_many = patch("IFC-QUO-2 IFC-QUO-3", QUOTA, "one call more than the quota is served")(_more(1))
one_too_few = patch("IFC-QUO-2 IFC-QUO-3", QUOTA, "the last call of the quota is refused")(_more(-1))
monthly_by_day = patch("IFC-QUO-3", QUOTA, "calls_monthly counts by the day")(
    change_result(lambda kept: {"calls_daily": kept.pop("calls_monthly", None), **kept})
)
years_alike = patch(
    "IFC-QUO-4", "labkit.services.interface.store:periods", "days and months of all years are the same"
)(change_result(lambda periods: (*(each[5:] for each in periods[:2]), periods[2])))
counted_late = patch(
    "IFC-QUO-7",
    "labkit.services.interface.store:Subscriptions.count_call",
    "concurrent calls are all served if one call is left",
)(late)


def _digits_are_numbers(original: Any, *of: Any) -> Any:
    """Convert the digits in a quota's texts to numbers."""
    *before, parameters = of
    quota = parameters.get("quota")
    if isinstance(quota, dict):
        numbers = {
            name: int(each) if isinstance(each, str) and each.isdigit() else each
            for name, each in quota.items()
        }
        parameters = {**parameters, "quota": numbers}
    return original(*before, parameters)


def _true_is_one(original: Any, *of: Any) -> Any:
    """Convert true in a quota to 1."""
    *before, parameters = of
    quota = parameters.get("quota")
    if isinstance(quota, dict):
        numbers = {name: 1 if each is True else each for name, each in quota.items()}
        parameters = {**parameters, "quota": numbers}
    return original(*before, parameters)


ARGUMENTS = "labkit.services.operation:Operation.arguments"
text_is_a_number = patch("IFC-QUO-8", ARGUMENTS, "a quota is taken as text")(_digits_are_numbers)
true_is_a_number = patch("IFC-QUO-8", ARGUMENTS, "a quota of true is taken as 1")(_true_is_one)
empty_changes_nothing = patch(
    "IFC-QUO-9", "labkit.services.interface.arguments:quota_changes", "an empty quota keeps the limits"
)(lambda original, quota: {} if quota is None else quota.model_dump(exclude_unset=True))
