"""Arguments of Interface's operations (document 3, Interface operations)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Secret

from labkit.services.arguments import Whole, matching
from labkit.services.interface.subscription import QUOTAS
from labkit.services.interface.subscription_writer import MOST_CALLS
from labkit.services.redaction import InJournal, redacted

MODES = ("sync", "async")


def _mode(value: object) -> object:
    if value is not None and value not in MODES:
        raise ValueError(f"expected one of: {', '.join(MODES)}")
    return value


def _calls(value: object) -> object:
    """Validate a quota, an integer in document 3: refuse text and booleans, but accept 3.0 from a script."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("expected a whole number")
    return value


def _object(value: object) -> object:
    """Return {} for an empty list, since an empty Lua table may be either; other values unchanged."""
    return {} if value == [] or value is None else value


Text = Annotated[str, Field(max_length=200)]
SubscriberId = Annotated[
    Text, matching(r"[a-z][a-z0-9]*", "a lower-case letter, then lower-case letters and digits")
]
Target = Annotated[Text, matching(r"[a-z0-9-]+", "lower-case letters, digits and hyphens")]
EventName = Annotated[Text, matching(r"[A-Za-z][A-Za-z0-9]*", "a letter, then letters and digits")]
Mode = Annotated[str | None, BeforeValidator(_mode)]
Offset = Annotated[Whole, Field(ge=0)]  # past the end there are no items, however far
Limit = Annotated[Whole, Field(ge=1, le=1000)]
Calls = Annotated[int, BeforeValidator(_calls), Field(ge=0, le=MOST_CALLS)]
Parameters = Annotated[Secret[dict[str, Any]], BeforeValidator(_object)]
Payload = Annotated[Any, InJournal(redacted)]


class QuotaChange(BaseModel):
    """Change of quotas; null removes a quota, an empty change all of them."""

    model_config = ConfigDict(extra="forbid")

    calls_daily: Calls | None = None
    calls_monthly: Calls | None = None


Quota = Annotated[QuotaChange, BeforeValidator(_object)]


def quota_changes(quota: QuotaChange | None) -> Mapping[str, int | None]:
    """Return the quotas that a change names, all for an empty one; None for a quota to remove."""
    return {} if quota is None else quota.model_dump(exclude_unset=True) or dict.fromkeys(QUOTAS)


def json_equal(one: object, other: object) -> bool:
    """Return whether two values are equal in JSON; 1 equals 1.0, but not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            json_equal(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return one == other
