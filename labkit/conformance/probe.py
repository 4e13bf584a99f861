"""Client of the probe for checks: a solution whose routes call services, and return what scripts see.

Its scripts are in `solutions/probe`; the witness is a second solution with the same scripts.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.device_client import GRACE
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.core.words import counted
from labkit.fleet.flow import FlowClient

if TYPE_CHECKING:
    import httpx

PROBE, WITNESS = "probe", "witness"
JSON = "application/json"

Table = dict[str, Any]


class Probe:
    """The routes of the probe. client: a client to share; last: the newest answer."""

    def __init__(self, target: Target, solution: str = PROBE, client: FlowClient | None = None) -> None:
        self._target = target
        self._client = client or target.client(solution)
        self.last: httpx.Response | None = None

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return its answer, of any status."""
        self.last = await self._client.request(method, path, **options)
        return self.last

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        """Return the decoded JSON of an answer. Raises Mismatch unless its status is 200."""
        return decoded(expect.status(await self.request(method, path, **options), 200))

    async def call(self, service: str, operation: str, parameters: object) -> tuple[str, Any]:
        """Call an operation from a script; return the Lua type of its result, and the result."""
        found = await self.ask("POST", f"/call/{service}/{operation}", json=parameters)
        return found["kind"], found.get("result")

    def same(self, what: str, actual: object, expected: object) -> None:
        """Raise Mismatch unless both are the same JSON: 1 differs from true, 1.5 and the text 1."""
        same(what, actual, expected, self.last)

    def expect_error(self, operation: str, status: int, result: Table) -> None:
        """Raise Mismatch unless the error object that an operation returned has this status, and its type."""
        wanted = {"type": "QueryError" if status < 500 else "ServerError", "status": status}
        self.same(f"error of {operation}", {name: result.get(name) for name in wanted}, wanted)

    def mismatch(self, operation: str, expected: str, actual: object) -> Mismatch:
        """Return the error for an operation that returned something else."""
        return Mismatch(
            f"what {operation} gives", expected, expect.hidden(actual), expect.exchange(self.last)
        )

    async def events(self, path: str, count: int, what: str) -> list[Table]:
        """Return the events that a route of the solution lists, at least `count`. Raises Mismatch if fewer arrive."""
        until = time.monotonic() + GRACE
        while True:
            if "journal" in self._target.offers:
                await self._target.settle()
            found: list[Table] = await self.ask("GET", path)
            if len(found) >= count:
                return found
            if "journal" in self._target.offers or time.monotonic() > until:
                raise Mismatch(what, counted(count, "event"), found)
            await asyncio.sleep(0.02)


class Service(Probe):
    """A service that the scripts of a solution call, by default those of the probe.

    failing: fields that only error objects of the service have.
    """

    failing = frozenset({"type", "error"})

    def __init__(self, target: Target, name: str, solution: str = PROBE) -> None:
        super().__init__(target, solution)
        self.name = name

    async def table(self, operation: str, /, **parameters: object) -> Table:
        """Return the table that an operation returns. Raises Mismatch for another type."""
        kind, result = await self.call(self.name, operation, parameters)
        if kind != "table" or not isinstance(result, dict):
            raise self.mismatch(operation, "a table", f"{kind} {result}")
        return result

    async def done(self, operation: str, /, **parameters: object) -> Table:
        """Return the table that an operation returns. Raises Mismatch for another type or an error."""
        result = await self.table(operation, **parameters)
        if self.failing & result.keys():
            raise self.mismatch(operation, "no error", result)
        return result

    async def field(self, operation: str, name: str, /, **parameters: object) -> Any:
        """Return a field of the table that an operation returns. Raises Mismatch if it is missing."""
        result = await self.done(operation, **parameters)
        if name not in result:
            raise self.mismatch(operation, f"a table with {name}", result)
        return result[name]

    async def refused(self, operation: str, status: int, /, **parameters: object) -> str:
        """Return the text of the error object that an operation returns. Raises Mismatch unless it has this status."""
        result = await self.table(operation, **parameters)
        self.expect_error(operation, status, result)
        text = result.get("error")
        if not isinstance(text, str) or not text:
            raise self.mismatch(operation, "an error with a text", result)
        return text


class Keystore(Service):
    """The Keystore service of the probe."""

    failing = Service.failing | {"status"}

    def __init__(self, target: Target, solution: str = PROBE) -> None:
        super().__init__(target, "Keystore", solution)

    async def get(self, key: str) -> Any:
        """Return the value of a key; None if there is none."""
        return (await self.done("get", key=key)).get("value")

    async def set(self, key: str, value: object) -> None:
        """Store a value."""
        await self.done("set", key=key, value=value)

    async def command(self, key: str, command: str, *args: object) -> Any:
        """Return the result of a command; None if it is nil."""
        return (await self.done("command", key=key, command=command, args=args)).get("value")

    async def items(self, key: str) -> Any:
        """Return all items of a list, from its head."""
        return await self.command(key, "lrange", 0, -1)


async def events_of(target: Target, identity: str, count: int, solution: str = PROBE) -> list[Table]:
    """Return the events of an identity that the probe's handlers received, at least `count`: [{handler, event}].

    Raises Mismatch if fewer arrive.
    """
    probe = Probe(target, solution, target.shared_client(solution))
    return await probe.events(f"/events/{identity}", count, f"events of {identity}")


def decoded(response: httpx.Response) -> Any:
    """Return the decoded JSON of an answer. Raises Mismatch unless it is JSON, and declared as such."""
    kind = response.headers.get("Content-Type", "").split(";")[0]
    expect.equal("content type", kind, JSON, response)
    try:
        return response.json()
    except ValueError as error:
        raise Mismatch("body", "JSON", str(error), expect.exchange(response)) from None


def same(what: str, actual: object, expected: object, response: httpx.Response | None = None) -> None:
    """Raise Mismatch unless both are the same JSON: 1 differs from true, 1.5 and the text 1."""
    if json.dumps(actual, sort_keys=True) != json.dumps(expected, sort_keys=True):
        wanted, seen = expect.hidden(repr(expected)), expect.hidden(repr(actual))
        raise Mismatch(what, wanted, seen, expect.exchange(response))
