"""Faults of quotas."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import given
from labkit.conformance.mutant import mutant

QUOTA = "labkit.services.interface.subscribing:checked_quota"


def _other_quota(original: Any, more: int) -> Any:
    """Keep another quota than was given."""

    def broken(quota: Any, **options: Any) -> Any:
        kept = original(quota, **options)
        return {name: each if each is None else max(0, each + more) for name, each in kept.items()}

    return broken


@mutant("IFC-QUO-2 IFC-QUO-3", QUOTA)
def one_too_many(original: Any) -> Any:
    """one call more than the quota is served"""
    return _other_quota(original, 1)


@mutant("IFC-QUO-2 IFC-QUO-3", QUOTA)
def one_too_few(original: Any) -> Any:
    """the last call of the quota is refused"""
    return _other_quota(original, -1)


@mutant("IFC-QUO-3", QUOTA)
def monthly_by_day(original: Any) -> Any:
    """calls_monthly counts by the day"""

    def broken(quota: Any, **options: Any) -> Any:
        kept = original(quota, **options)
        return {"calls_daily": kept["calls_monthly"]} if kept.get("calls_monthly") else kept

    return broken


@mutant("IFC-QUO-8", "labkit.services.calls:Services.call")
def numbers_alone(original: Any) -> Any:
    """a count that comes as text is left out"""

    def numbers(operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        quota = parameters.get("quota")
        if operation != "setSubscriber" or not isinstance(quota, dict):
            return parameters
        return {**parameters, "quota": {n: each for n, each in quota.items() if not isinstance(each, str)}}

    return given(original, "Interface", numbers)
