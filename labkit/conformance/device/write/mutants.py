"""Faults of the write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import reply
from labkit.devices.state import Datapoint, State, Stored
from labkit.http.error import HttpError
from labkit.settings import LabSettings, NumberRange, Wire

FORM = "labkit.device_api.exchange:Exchange.form"
STORE = "labkit.devices.state:State.store"
PARSE = "labkit.device_api.forms:parse_body"

Form = list[tuple[str, str]]
Points = Sequence[Datapoint]
Kept = tuple[list[Stored], list[tuple[str, str]]]  # and what is read


@mutant("DEV-ALIAS-1", STORE)
def first_only(original: Any) -> Any:
    """only the first alias of a write is stored"""
    return _stored(original, lambda points: points[:1])


@mutant("DEV-ALIAS-1 DEV-READ-4 DEV-HYBRID-4", "labkit.device_api.alias:written_values")
def says_ok(original: Any) -> Any:
    """where nothing is returned the answer is 200"""
    return lambda exchange, found: original(exchange, found) if found else reply(200, "OK")


@mutant("DEV-ALIAS-2 DEV-REC-2", STORE)
def hour_off(original: Any) -> Any:
    """datapoints are stored an hour late"""
    return _stored(
        original, lambda points: [each._replace(timestamp=each.timestamp + 3600) for each in points]
    )


@mutant("DEV-ALIAS-2 DEV-POLL-4", STORE)
def microseconds(original: Any) -> Any:
    """datapoints are stored under microseconds"""
    return _stored(
        original, lambda points: [each._replace(timestamp=each.timestamp * 1_000_000) for each in points]
    )


@mutant("DEV-ALIAS-3", STORE)
def stamps_differ(original: Any) -> Any:
    """each alias of a write gets a timestamp of its own"""

    def spread(points: list[Datapoint]) -> list[Datapoint]:
        return [each._replace(timestamp=each.timestamp + index) for index, each in enumerate(points)]

    return _stored(original, spread)


@mutant("DEV-ALIAS-4 DEV-ALIAS-9 DEV-HYBRID-3", FORM)
def unknown_refused(original: Any) -> Any:
    """a write that names an unknown alias is answered 404"""

    async def broken(self: Exchange) -> Form:
        pairs: Form = await original(self)
        if self.path.endswith("/alias") and not self.product.settings.resources.keys() >= dict(pairs).keys():
            raise HttpError(404, "unknown alias")
        return pairs

    return broken


@mutant("DEV-ALIAS-4 DEV-HYBRID-3", FORM)
def unknown_spoils_all(original: Any) -> Any:
    """a write that names an unknown alias stores nothing"""

    async def broken(self: Exchange) -> Form:
        pairs: Form = await original(self)
        unknown = dict(pairs).keys() - self.product.settings.resources.keys()
        return [pair for pair in pairs if pair[0] in unknown] if unknown else pairs

    return broken


@mutant("DEV-ALIAS-5", "labkit.device_api.forms:decode")
def plus_stays(original: Any) -> Any:
    """a + in a form stays one"""
    return lambda text: original(text.replace("+", "%2B"))


@mutant("DEV-ALIAS-5", "labkit.device_api.forms:encode")
def bare_answer(original: Any) -> Any:
    """values are returned as they are, not encoded"""
    return lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)


@mutant("DEV-ALIAS-5", PARSE)
def ascii_only(original: Any) -> Any:
    """letters beyond ASCII are lost"""
    return lambda body: [(n, value.encode("ascii", "ignore").decode()) for n, value in original(body)]


@mutant("DEV-ALIAS-6 DEV-HYBRID-5 DEV-REC-14", "labkit.devices.products:Product.value_error")
def all_fits(original: Any) -> Any:
    """every value fits every resource"""
    return lambda self, alias, value: None


@mutant("DEV-ALIAS-6", "labkit.devices.products:allows")
def edges_excluded(original: Any) -> Any:
    """the ends of an allowed range are not allowed"""

    def broken(rule: Any, value: str) -> bool:
        return bool(original(rule, value)) and not (
            isinstance(rule, NumberRange) and float(value) in (rule.min, rule.max)
        )

    return broken


@mutant("DEV-ALIAS-7 DEV-HYBRID-5", FORM)
def nothing_is_something(original: Any) -> Any:
    """a write without a pair is no error"""

    async def broken(self: Exchange) -> Form:
        return await original(self) or [("nowhere", "")]

    return broken


@mutant("DEV-ALIAS-8", PARSE)
def bare_names_dropped(original: Any) -> Any:
    """a name without = is left out"""

    def broken(body: bytes) -> Form:
        pairs: Form = original(b"&".join(part for part in body.split(b"&") if b"=" in part))
        return pairs

    return broken


@mutant("DEV-ALIAS-8", PARSE)
def first_counts(original: Any) -> Any:
    """of an alias named twice the first value counts"""
    return lambda body: original(body)[::-1]


@mutant("DEV-ALIAS-10 DEV-REC-9", STORE)
def first_of_a_second(original: Any) -> Any:
    """of two values of one second the first one stays"""
    taken: set[tuple[str, str, str, int]] = set()

    async def broken(self: State, product: str, identity: str, points: Points, *rest: Any) -> Kept:
        fresh = [each for each in points if (product, identity, each.alias, each.timestamp) not in taken]
        taken.update((product, identity, each.alias, each.timestamp) for each in fresh)
        kept: Kept = await original(self, product, identity, fresh, *rest)
        return kept

    return broken


@mutant("DEV-ALIAS-11 DEV-REC-1", "labkit.settings:LabSettings.wires", from_start=True)
def no_length(original: Any) -> Any:
    """a 204 has no Content-Length"""

    def broken(self: LabSettings) -> Wire:
        wire: Wire = original(self)
        return wire.model_copy(update={"empty_length": False})

    return broken


@mutant("DEV-ALIAS-12", PARSE)
def small_letters(original: Any) -> Any:
    """alias names are taken in small letters"""
    return lambda body: [(name.lower(), value) for name, value in original(body)]


def _stored(original: Any, change: Any) -> Any:
    async def broken(self: State, product: str, identity: str, points: Points, *rest: Any) -> Kept:
        kept: Kept = await original(self, product, identity, change(list(points)), *rest)
        return kept

    return broken
