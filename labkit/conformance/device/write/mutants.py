"""Faults of the write."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import mutant, patch
from labkit.devices.state import Datapoint

STORE = "labkit.devices.state:State.store"
PARSE = "labkit.device_api.forms:parse_body"


def _at(change: Any) -> Any:
    """Return a change of datapoints' times: change(timestamp, number of the point in its request)."""

    def moved(points: list[Datapoint]) -> list[Datapoint]:
        return [each._replace(timestamp=change(each.timestamp, n)) for n, each in enumerate(points)]

    return change_arguments(points=moved)


hour_off = patch("DEV-ALIAS-2 DEV-REC-2", STORE, "datapoints are stored an hour late")(
    _at(lambda at, _: at + 3600)
)
microseconds = patch("DEV-ALIAS-2 DEV-POLL-4", STORE, "datapoints are stored under microseconds")(
    _at(lambda at, _: at * 1_000_000)
)
stamps_differ = patch("DEV-ALIAS-3", STORE, "each alias of a write gets a timestamp of its own")(
    _at(lambda at, n: at + n)
)
ascii_only = patch("DEV-ALIAS-5", PARSE, "letters beyond ASCII are lost")(
    change_result(lambda form: [(name, value.encode("ascii", "ignore").decode()) for name, value in form])
)
bare_names_dropped = patch("DEV-ALIAS-8", PARSE, "a name without = is left out")(
    change_arguments(body=lambda body: b"&".join(part for part in body.split(b"&") if b"=" in part))
)
no_length = patch(
    "DEV-ALIAS-11 DEV-REC-1",
    "labkit.settings:LabSettings.wire_behaviour",
    "a 204 has no Content-Length",
    from_start=True,
)(change_result(lambda wire: wire.model_copy(update={"empty_length": False})))


@mutant("DEV-ALIAS-10 DEV-REC-9", STORE)
def first_of_a_second(original: Any) -> Any:
    """of two values of one second the first one stays"""
    taken: set[tuple[str, str, str, int]] = set()

    async def broken(self: Any, product: str, identity: str, points: Any, *rest: Any) -> Any:
        fresh = [each for each in points if (product, identity, each.alias, each.timestamp) not in taken]
        taken.update((product, identity, each.alias, each.timestamp) for each in fresh)
        return await original(self, product, identity, fresh, *rest)

    return broken
