"""Settings of the section `limits`: limits of deployed platforms that the documents do not name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from labkit.core.keywords import Doc
from labkit.settings.values import Model, Seconds

PUBLISHED: Mapping[str, int | float] = {
    "websocket_messages": 5,
    "solution_requests": 100,
    "tsdb_points": 1000,
    "tsdb_days": 90,
    "daily_mails": 100,
    "keystore_keys": 10_000,
    "script_cpu": 10,
}


def _of(name: str, text: str) -> Doc:
    return Doc(f"{text}; `published`: {PUBLISHED[name]:,}", since="1.4")


Count = Annotated[int, Field(strict=True, ge=1, le=2**31)]


class Limits(Model):
    """Limits that public references of such platforms name, each off without a value.

    `limits: published` sets them all. Seconds and days are lab time, which a virtual clock moves only when told, but
    for script_cpu. The numbers of mails and keys depend on a platform's plan; no reference has them, so those of
    `published` are labkit's own.
    """

    websocket_messages: Annotated[
        Count | None,
        _of("websocket_messages", "messages of a client in a second on a websocket; more are dropped"),
    ] = None
    solution_requests: Annotated[
        Count | None,
        _of(
            "solution_requests",
            "requests to a solution in a second, unless its services/config.yaml has a rate_limit; more get 429",
        ),
    ] = None
    tsdb_points: Annotated[
        Count | None, _of("tsdb_points", "rows of a Tsdb.query without `limit`; more are left out")
    ] = None
    tsdb_days: Annotated[
        Count | None,
        _of(
            "tsdb_days",
            "age of Tsdb's points in days, unless services/tsdb.yaml says it; older ones are deleted",
        ),
    ] = None
    daily_mails: Annotated[
        Count | None,
        _of("daily_mails", "mails of a solution in a day of UTC; Email.send refuses more with 403"),
    ] = None
    keystore_keys: Annotated[
        Count | None,
        _of("keystore_keys", "keys in a solution's Keystore; a call that adds more is refused with 403"),
    ] = None
    script_cpu: Annotated[
        Seconds | None,
        _of(
            "script_cpu",
            "seconds of computing of a whole run of a script, in place of `guard.script_cpu`; more ends it with 504",
        ),
    ] = None


def _limits(value: object) -> object:
    if value == "published":
        return PUBLISHED
    if not isinstance(value, Mapping | Limits | None):
        raise ValueError(f"expected published, or a mapping of limits, not {value!r:.60}")
    return {} if value is None else value


LimitsSwitch = Annotated[
    Limits, BeforeValidator(_limits, json_schema_input_type=Literal["published"] | Limits | None)
]
