"""The procedures of remote procedure calls: look-up of resources, and their datapoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from labkit.context import Context
from labkit.core.errors import LabError
from labkit.devices.history import DatapointRange
from labkit.devices.state import Datapoint
from labkit.labtime import time_limits
from labkit.labtime.turns import current
from labkit.services.device.errors import NOT_SUPPORTED, RpcError, wrong_argument
from labkit.services.device.info import info
from labkit.services.device.resources import RpcResource, RpcResources
from labkit.services.device.values import LATEST, moment, shown_value, stored_value, whole

TYPES = ("client", "dataport", "datarule", "dispatch")
CATEGORIES = ("activated", "aliased", "owned", "public", "tagged")
SELECTIONS = ("all", "givenwindow", "autowindow")
MOST_POINTS = 10_000  # that one call reads or records
LONGEST_WAIT = 300_000  # milliseconds, as for long polls

Arguments = Sequence[object]


class Procedures:
    """The procedures of one request. actor: the solution, as the journal names it."""

    def __init__(self, context: Context, resources: RpcResources, actor: str) -> None:
        self._context = context
        self._resources = resources
        self._product = resources.product
        self._actor = actor

    async def run(self, name: str, arguments: Arguments) -> tuple[object, object]:
        """Run a procedure and return the status and the result of the call. Raises RpcError."""
        found = PROCEDURES.get(name)
        if found is None:
            text = REFUSED.get(name) or f"expected one of: {', '.join(PROCEDURES)}"
            raise RpcError(NOT_SUPPORTED, text, "procedure")
        return await found(self, arguments)

    async def create(self, arguments: Arguments) -> tuple[object, object]:
        """Whitelist the identity in the `name` of a client's description, and return its rid."""
        kind, description = self._all_of(arguments, 2)
        name = description.get("name") if isinstance(description, Mapping) else None
        if kind != "client" or self._resources.client.identity or not isinstance(name, str):
            raise wrong_argument('expected "client" and {name = <identity>}, as the product')
        try:
            added = await self._product.access.add(name)
        except LabError as error:
            raise wrong_argument(f"name: {error}") from None
        if not added:
            raise wrong_argument("name: this identity exists")
        return "ok", self._resources.rid(RpcResource(name))

    async def drop(self, arguments: Arguments) -> tuple[object, object]:
        """Delete a device with its credentials."""
        [given] = self._all_of(arguments, 1)
        client = await self._client(given)
        if not client.identity:
            raise wrong_argument("expected a device")
        await self._product.access.remove(client.identity)
        return "ok", None

    async def map(self, arguments: Arguments) -> tuple[object, object]:
        """Accept the alias that a resource has already; it has no other."""
        kind, given, alias = self._all_of(arguments, 3)
        resource = await self._resources.resolve(given)
        if kind != "alias" or alias != (resource.alias or resource.identity):
            raise wrong_argument("a resource keeps the alias that it was created with")
        return "ok", None

    async def activate(self, arguments: Arguments) -> tuple[object, object]:
        """Unlock the device with a token."""
        return await self._lock(arguments, False)

    async def deactivate(self, arguments: Arguments) -> tuple[object, object]:
        """Lock the device with a token."""
        return await self._lock(arguments, True)

    async def _lock(self, arguments: Arguments, locked: bool) -> tuple[object, object]:
        kind, token = self._all_of(arguments, 2)
        known = kind == "client" and isinstance(token, str)
        device = await self._product.access.find_by_token(token) if known else None
        if device is None or self._resources.client.identity not in ("", device.identity):
            raise wrong_argument('expected "client" and the token of a device')
        await self._product.access.lock(device.identity, locked)
        return "ok", None

    async def lookup(self, arguments: Arguments) -> tuple[object, object]:
        """Return the rid of a client's child by its alias, or that of a resource's owner."""
        if len(arguments) == 2:  # of the older form
            arguments = ({"alias": ""}, *arguments)
        given, kind, what = self._all_of(arguments, 3)
        client = await self._client(given)
        if kind in ("alias", "aliased"):
            return "ok", self._resources.rid(await self._resources.by_alias(client, what))
        if kind == "owner":
            owned = await self._resources.resolve(what)
            if owned.alias or (owned.identity and not self._resources.client.identity):
                return "ok", self._resources.rid(RpcResource(owned.identity if owned.alias else ""))
        elif kind != "shared":
            raise wrong_argument("expected alias, owner or shared")
        raise wrong_argument("no such resource")

    async def listing(self, arguments: Arguments) -> tuple[object, object]:
        """Return the rids of a client's children by type."""
        if arguments and isinstance(arguments[0], list | tuple):  # of the older form
            arguments = ({"alias": ""}, *arguments)
        given, types, *rest = self._all_of(arguments, 2, 1)
        client, options = await self._client(given), self._table(rest)
        if not isinstance(types, list | tuple) or not all(each in TYPES for each in types):
            raise wrong_argument(f"expected a list of types: {', '.join(TYPES)}")
        if not options.keys() <= set(CATEGORIES) or not all(type(each) is bool for each in options.values()):
            raise wrong_argument(f"expected true or false for each of: {', '.join(CATEGORIES)}")
        children: list[RpcResource] = []
        if options.get("owned", True) or options.get("aliased"):  # each child has an alias
            children = await self._resources.children(client)
        own = "dataport" if client.identity else "client"
        rids = [self._resources.rid(each) for each in children]
        return "ok", {str(each): rids if each == own else [] for each in types}

    async def info(self, arguments: Arguments) -> tuple[object, object]:
        """Return information about a client or a resource."""
        given, *rest = self._all_of(arguments, 1, 1)
        return "ok", await info(self._context, self._resources, await self._resources.resolve(given), rest)

    async def read(self, arguments: Arguments) -> tuple[object, object]:
        """Return datapoints of a resource."""
        given, *rest = self._all_of(arguments, 1, 1)
        resource, options = await self._dataport(given), self._table(rest)
        order, selection = options.get("sort", "desc"), options.get("selection", "all")
        if order not in ("asc", "desc"):
            raise wrong_argument("sort: expected asc or desc")
        if selection not in SELECTIONS:
            raise wrong_argument(f"selection: expected one of: {', '.join(SELECTIONS)}")
        chosen = DatapointRange(
            whole("starttime", options.get("starttime", 0), 0, LATEST),
            whole("endtime", options.get("endtime", self._context.clock.seconds()), 0, LATEST),
            order == "desc",
            whole("limit", options.get("limit", 1), 1, MOST_POINTS),
            selection,
        )
        found = await self._product.access.read(resource.identity, resource.alias, chosen)
        return "ok", [[time, shown_value(self._product, resource.alias, value)] for time, value in found]

    async def write(self, arguments: Arguments) -> tuple[object, object]:
        """Write a value of a resource."""
        given, value = self._all_of(arguments, 2)
        return await self.writegroup(([(given, value)],))

    async def writegroup(self, arguments: Arguments) -> tuple[object, object]:
        """Write values of several resources, all or none, with one timestamp."""
        [pairs] = self._all_of(arguments, 1)
        now = self._context.clock.seconds()
        points: dict[str, dict[str, str]] = {}  # by identity, then by alias
        for given, value in self._pairs(pairs, "expected a list of {resource, value}"):
            resource = await self._dataport(given)
            text = stored_value(self._product, resource.alias, value)
            points.setdefault(resource.identity, {})[resource.alias] = text
        for identity, values in points.items():
            stored = [Datapoint(alias, now, value) for alias, value in values.items()]
            await self._product.access.store(identity, stored, written=True)
        return "ok", None

    async def record(self, arguments: Arguments) -> tuple[object, object]:
        """Store values with their timestamps, all or none."""
        given, pairs, *_ = self._all_of(arguments, 2, 1)
        invalid = await self._record(given, pairs, all_or_none=True)
        if invalid:
            raise wrong_argument(f"timestamp {invalid[0][0]} or its value is invalid")
        return "ok", None

    async def recordbatch(self, arguments: Arguments) -> tuple[object, object]:
        """Store those values with their timestamps that are valid, and name the others."""
        given, pairs = self._all_of(arguments, 2)
        invalid = await self._record(given, pairs, all_or_none=False)
        return (invalid or "ok"), None

    async def flush(self, arguments: Arguments) -> tuple[object, object]:
        """Delete datapoints of a resource, or of all resources of a device."""
        given, *rest = self._all_of(arguments, 1, 1)
        resource, options = await self._resources.resolve(given), self._table(rest)
        newer = whole("newerthan", options.get("newerthan", -1), -1, LATEST)
        older = whole("olderthan", options.get("olderthan", LATEST), 0, LATEST)
        if not resource.identity:
            raise wrong_argument("expected a device or a resource of one")
        await self._resources.device(resource.identity)
        for alias in [resource.alias] if resource.alias else self._resources.aliases:
            await self._product.access.flush(resource.identity, alias, newer, older)
        return "ok", None

    async def wait(self, arguments: Arguments) -> tuple[object, object]:
        """Wait in lab time for a datapoint of a resource."""
        given, *rest = self._all_of(arguments, 1, 1)
        resource, options = await self._dataport(given), self._table(rest)
        timeout = whole("timeout", options.get("timeout", 30_000), 0, LONGEST_WAIT)
        since = None if "since" not in options else whole("since", options["since"], 0, LATEST)
        until = self._context.clock.now() + timeout / 1000
        turn = current()
        if turn is not None:
            turn.release()
        try:
            with time_limits.paused():
                found = await self._product.access.wait(*resource, since, until, self._actor)
        finally:
            if turn is not None:
                turn.enqueue()
                await turn.wait()
        if found is None:
            raise RpcError(NOT_SUPPORTED, "no datapoint came", "arguments", "expire")
        return "ok", [found[0], shown_value(self._product, resource.alias, found[1])]

    async def _record(self, given: object, pairs: object, *, all_or_none: bool) -> list[list[object]]:
        """Store the valid ones of several points; return the invalid ones as recordbatch names them."""
        resource, now = await self._dataport(given), self._context.clock.seconds()
        points: dict[int, Datapoint] = {}
        invalid: list[list[object]] = []
        for timestamp, value in self._pairs(pairs, "expected a list of {timestamp, value}"):
            second = moment(timestamp, now)
            try:
                if second is None:
                    raise wrong_argument("invalid timestamp")
                text = stored_value(self._product, resource.alias, value)
            except RpcError:
                invalid.append([timestamp, "invalid"])
            else:
                points[second] = Datapoint(resource.alias, second, text)
        if points and not (invalid and all_or_none):
            stored = [points[second] for second in sorted(points)]
            await self._product.access.store(resource.identity, stored, written=False)
        return invalid

    async def _client(self, given: object) -> RpcResource:
        client = await self._resources.resolve(given)
        if not client.is_client:
            raise wrong_argument("expected a client, not a dataport")
        if client.identity:
            await self._resources.device(client.identity)
        return client

    async def _dataport(self, given: object) -> RpcResource:
        resource = await self._resources.resolve(given)
        if resource.is_client:
            raise wrong_argument("expected a dataport, not a client")
        await self._resources.device(resource.identity)
        return resource

    def _all_of(self, arguments: Arguments, required: int, optional: int = 0) -> Sequence[Any]:
        if not required <= len(arguments) <= required + optional:
            expected = str(required) if not optional else f"{required} or {required + optional}"
            raise wrong_argument(f"expected {expected} arguments, not {len(arguments)}")
        return arguments

    def _table(self, rest: Arguments) -> Mapping[str, Any]:
        """Return the options of a call; an empty table of a script may look like a list."""
        if not rest or rest[0] in ([], None):
            return {}
        if not isinstance(rest[0], Mapping):
            raise wrong_argument("expected a table of options")
        return rest[0]

    def _pairs(self, given: object, expected: str) -> Sequence[Sequence[Any]]:
        if given == {}:
            return []
        if not isinstance(given, list | tuple) or len(given) > MOST_POINTS:
            raise wrong_argument(f"{expected}, at most {MOST_POINTS}")
        if not all(isinstance(each, list | tuple) and len(each) == 2 for each in given):
            raise wrong_argument(expected)
        return given


Procedure = Callable[[Procedures, Arguments], Awaitable[tuple[object, object]]]
PROCEDURES: Mapping[str, Procedure] = {
    each.__name__: each
    for each in (
        Procedures.activate,
        Procedures.create,
        Procedures.deactivate,
        Procedures.drop,
        Procedures.flush,
        Procedures.info,
        Procedures.listing,
        Procedures.lookup,
        Procedures.map,
        Procedures.read,
        Procedures.record,
        Procedures.recordbatch,
        Procedures.wait,
        Procedures.write,
        Procedures.writegroup,
    )
}
NO_SHARES = "nothing is shared here"
REFUSED = {  # those of the platform that nothing here can do, with the reason
    "move": "a device stays in its product",
    "revoke": NO_SHARES,
    "share": NO_SHARES,
    "unmap": "a resource keeps the alias that it was created with",
    "update": "resources are those of the product: see Device2.updateGatewayResource",
    "usage": "nothing is metered here",
}
