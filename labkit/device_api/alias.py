"""Write, read and hybrid: /onep:v1/stack/alias (document 1, Endpoints)."""

from __future__ import annotations

from collections.abc import Iterable

from labkit.device_api import emitted, forms, long_poll
from labkit.device_api.authenticate import authenticate, require_still_authenticated
from labkit.device_api.exchange import Exchange
from labkit.device_api.wire import FORM, nothing, reply
from labkit.devices.devices import Devices
from labkit.devices.state import Datapoint
from labkit.http.error import HttpError
from labkit.http.reply import Answer


async def read(exchange: Exchange, devices: Devices) -> Answer:
    """Answer GET: the newest values of the aliases in the query; with Request-Timeout a long poll."""
    device = await authenticate(exchange, devices.registry)
    aliases = queried_aliases(exchange)
    if not aliases:
        raise HttpError(400, "expected at least one alias in the query")
    if "Request-Timeout" in exchange.request.headers:
        return await long_poll.wait(exchange, devices, device, aliases)
    read = existing_aliases(exchange, aliases)
    found = await devices.state.latest(device.product, device.identity, read)
    if devices.state.read_watchers:
        devices.state.report_read(device.product, device.identity, read, exchange.record)
    if exchange.product.initial:
        found = exchange.product.with_initial(read, found)
    return values_reply(exchange, found)


async def write(exchange: Exchange, devices: Devices) -> Answer:
    """Answer POST: store the pairs of the body; with aliases in the query, read those after all writes (hybrid)."""
    device = await authenticate(exchange, devices.registry)
    aliases = queried_aliases(exchange)
    pairs = await exchange.form()
    if not pairs:
        raise HttpError(400, "expected at least one <alias>=<value> in the body")
    now = exchange.context.clock.now()
    second, product = int(now), exchange.product
    resources = product.settings.resources
    points: list[Datapoint] = []
    for alias, value in dict(pairs).items():
        if alias in resources:
            if wrong := product.value_error(alias, value):
                exchange.add_not_stored(pairs)
                raise HttpError(400, wrong)
            # A call of Datapoint costs twice as much, for every value that devices write.
            points.append(tuple.__new__(Datapoint, (alias, second, value)))
    others: list[Datapoint] = []
    if len(points) < len(pairs):
        if exchange.context.wire.unknown_aliases:
            others = [
                Datapoint(alias, second, text)
                for alias, text in dict(pairs).items()
                if alias not in resources
            ]
        kept = {point.alias: point.value for point in points}
        exchange.add_not_stored((alias, value) for alias, value in pairs if kept.get(alias) != value)
    await exchange.context.events.wait_for_capacity(f"{device.product}/{device.identity}")
    require_still_authenticated(exchange)
    read = existing_aliases(exchange, aliases) if aliases else ()
    stored, first, found = await devices.state.store(device.product, device.identity, points, second, read)
    emitted.stored(exchange, devices, device, stored, first, "write", now, others)
    if read and devices.state.read_watchers:
        devices.state.report_read(device.product, device.identity, read, exchange.record)
    if product.initial:
        found = product.with_initial(read, found)
    return values_reply(exchange, found)


def queried_aliases(exchange: Exchange) -> tuple[str, ...]:
    """Return the aliases in the query without duplicates, in order."""
    head = exchange.request.head
    if head.aliases is None:
        head.aliases = tuple(dict.fromkeys(name for name, _ in exchange.query() if name))
    return head.aliases


def existing_aliases(exchange: Exchange, aliases: Iterable[str]) -> list[str]:
    """Return the aliases that are resources of the product; others are not an error (document 1, Errors, 2)."""
    resources = exchange.product.settings.resources
    found = [alias for alias in aliases if alias in resources]
    if found != [*aliases]:  # calls of len would cost each read
        exchange.add_unknown(aliases)
    return found


def values_reply(exchange: Exchange, found: list[tuple[str, str]]) -> Answer:
    """Return the reply with alias-value pairs; an empty one without pairs."""
    return reply(200, forms.encode(found), FORM) if found else nothing(exchange.context.wire)
