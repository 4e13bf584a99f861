"""Client of the older service Device, as scripts use it."""

from __future__ import annotations

from typing import Any

from labkit.conformance.probe import PROBE, Service, Table
from labkit.conformance.target import Target

PRODUCT, LAMP = "steered", "steered-lamp"
ALIASES = ("text", "number", "flag", "level", "measured")  # of both products, in their order


class Rpc(Service):
    """Device of a solution. pid: of the product; client: rid that the calls act as, empty for the product."""

    def __init__(
        self, target: Target, solution: str = PROBE, pid: str | None = PRODUCT, client: str = ""
    ) -> None:
        super().__init__(target, "Device", solution)
        self.solution = solution
        self.pid = pid
        self.client = client

    async def made(self, calls: object, auth: object = None) -> Any:
        """Make a request, and return its result."""
        acting = auth if auth is not None else {"client_id": self.client} if self.client else {}
        which = {} if self.pid is None else {"pid": self.pid}
        _, result = await self.call("Device", "rpcCall", {"calls": calls, "auth": acting, **which})
        return result

    async def entry(self, procedure: str, *arguments: object) -> Table:
        """Make a request with one call, and return its entry."""
        found = await self.made([{"id": "a", "procedure": procedure, "arguments": arguments}])
        if not isinstance(found, list) or len(found) != 1 or found[0].get("id") != "a":
            raise self.mismatch(procedure, "one entry with the id", found)
        return dict(found[0])

    async def ok(self, procedure: str, *arguments: object) -> Any:
        """Return the result of a call. Raises Mismatch unless its status is ok."""
        found = await self.entry(procedure, *arguments)
        self.same(f"status of {procedure}", found.get("status"), "ok")
        return found.get("result")

    async def fails(self, procedure: str, *arguments: object) -> Table:
        """Return the error of a call. Raises Mismatch unless it fails."""
        found = await self.entry(procedure, *arguments)
        error = found.get("error")
        if found.get("status") == "ok" or "result" in found or not isinstance(error, dict):
            raise self.mismatch(procedure, "an error", found)
        return error

    async def acting_as(self, identity: str, target: Target) -> Rpc:
        """Return the same for the calls that act as a device."""
        rid = await self.ok("lookup", "alias", identity)
        return Rpc(target, self.solution, self.pid, rid)

    async def points(self, alias: str, **options: object) -> list[list[Any]]:
        """Return all datapoints of a resource, oldest first."""
        chosen = {"sort": "asc", "limit": 10_000, "endtime": 10**12, **options}
        found = await self.ok("read", {"alias": alias}, chosen)
        return [list(each) for each in found]
