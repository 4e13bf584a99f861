"""Solutions that publish and subscribe, of lab.yaml or made by a check.

lights and meters publish the same (fixtures/solutions/publisher). hall, garden and kiosk subscribe to lights, garden
and kiosk to meters too; kiosk calls lights `lamps`. lights and meters are subscribers of each other, under the key
`partner`, without a handler for any event.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.probe import Probe, Table
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch
from labkit.core.errors import LabkitError, LabWarning, SettingsError

if TYPE_CHECKING:
    from labkit.lab.solution import Solution

LIGHTS, METERS = "lights", "meters"
HALL, GARDEN, KIOSK = "hall", "garden", "kiosk"
INTERFACE = "Interface"
FILTERS = threading.Lock()  # Python's warning filters are shared by all threads


class Partner(Probe):
    """A solution of lab.yaml that calls its publishers, or its subscribers."""

    async def value(self, service: str, operation: str, parameters: object) -> Any:
        """Return the result of an operation. Raises Mismatch for an error."""
        kind, result = await self.call(service, operation, parameters)
        if isinstance(result, dict) and "error" in result:
            raise self.mismatch(operation, "no error", f"{kind} {result}")
        return result

    async def table(self, service: str, operation: str, parameters: object) -> Table:
        """Return the table that an operation returns. Raises Mismatch."""
        result = await self.value(service, operation, parameters)
        if not isinstance(result, dict):
            raise self.mismatch(operation, "a table", result)
        return result

    async def items(self, service: str, operation: str, parameters: object) -> list[Any]:
        """Return the list that an operation returns. Raises Mismatch."""
        result = await self.value(service, operation, parameters)
        if not isinstance(result, list):
            raise self.mismatch(operation, "a list", result)
        return result

    async def nothing(self, service: str, operation: str, parameters: object) -> None:
        """Raise Mismatch unless an operation returns nil."""
        kind, result = await self.call(service, operation, parameters)
        expect.equal(f"what {operation} gives", (kind, result), ("nil", None), self.last)

    async def error(self, service: str, operation: str, parameters: object) -> Table:
        """Return the error object that an operation returns. Raises Mismatch."""
        kind, result = await self.call(service, operation, parameters)
        if not isinstance(result, dict) or "error" not in result:
            raise self.mismatch(operation, "an error", f"{kind} {result}")
        return result

    async def refused(self, service: str, operation: str, parameters: object, status: int) -> str:
        """Return the text of the error object that an operation returns. Raises Mismatch unless it has this status."""
        result = await self.error(service, operation, parameters)
        self.expect_error(operation, status, result)
        return str(result["error"])

    async def subscribers(self, **parameters: object) -> list[Table]:
        """Return the items of listSubscribers."""
        found = await self.table(INTERFACE, "listSubscribers", {"limit": 1000, **parameters})
        items = found.get("items")
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            raise self.mismatch("listSubscribers", "a list of subscribers", items)
        return items

    async def subscriber(self, id: str) -> Table:
        """Return the subscriber with a solution's id."""
        return await self.table(INTERFACE, "getSubscriber", {"subscriber_id": id})

    async def entries(self, event: str, data: object, **others: object) -> dict[str, Table]:
        """Return the list that `trigger` returns, by solution id."""
        found = await self.items(INTERFACE, "trigger", {"event": event, "data": data, **others})
        entries = {str(each.get("solution_id")): each for each in found if isinstance(each, dict)}
        expect.equal("entries, one for a solution", len(entries), len(found), self.last)
        return entries

    async def one(self, target: object, event: str, data: object, **others: object) -> Any:
        """Return the result of triggerOne. Raises Mismatch for an error."""
        return await self.value(
            INTERFACE, "triggerOne", {"target": target, "event": event, "data": data, **others}
        )


async def seen(target: Target, solution: str, tag: str, count: int) -> list[Table]:
    """Return the events with this tag that a subscriber's handlers received, at least `count`: [{handler, data,
    solution}].

    Raises Mismatch if fewer arrive.
    """
    return await Probe(target, solution).events(f"/seen/{tag}", count, f"what {solution} got with {tag}")


# ---- solutions that a check makes itself, in a lab in this process


def solution_id(target: Target) -> str:
    """Return an unused solution id: letters and digits."""
    return target.identity().replace("-", "")


class OwnSolution:
    """A solution that a check made. Its calls do not block the event loop."""

    def __init__(self, target: Target, handle: Solution) -> None:
        self._target = target
        self.handle = handle
        self.id = handle.id

    async def call(self, service: str, operation: str, /, **parameters: object) -> Any:
        """Return the result of an operation, or its error object."""
        return await self._target.in_lab(self.handle.call, service, operation, parameters)

    async def status(self, service: str, operation: str, /, **parameters: object) -> Any:
        """Return the status of an operation's error; None if it succeeds."""
        result = await self.call(service, operation, **parameters)
        return result.get("status") if isinstance(result, dict) and "error" in result else None

    async def on(self, service: str, event: str, lua: str) -> None:
        """Handle an event, replacing any existing handler."""
        await self._target.in_lab(self.handle.on, service, event, lua=lua, replace=True)

    async def warnings(self) -> list[str]:
        """Return the warnings for the solution's author that the lab has recorded."""

        def recorded() -> list[str]:
            logs = self.handle.logs
            return [str(text) for text in logs[logs["level"] == "warning"]["text"]]

        return await self._target.in_lab(recorded)

    async def subscribe(self, publisher: OwnSolution, **settings: Any) -> Any:
        """Subscribe, and return the handle of the subscription. Raises Mismatch if it is refused."""
        try:
            return await self._subscribe(publisher, settings)
        except LabkitError as error:
            raise Mismatch("a subscription", f"that {settings} is taken", str(error)) from None

    async def refused(self, publisher: OwnSolution, **settings: Any) -> str:
        """Return the error of a subscription. Raises Mismatch if it is accepted."""
        try:
            await self._subscribe(publisher, settings)
        except LabkitError as error:
            return str(error)
        raise Mismatch("a subscription", f"that {settings} is refused", "it was taken")

    async def _subscribe(self, publisher: OwnSolution, settings: dict[str, Any]) -> Any:
        return await self._target.in_lab(partial(self.handle.subscribe, publisher.handle, **settings))


async def create_own(
    target: Target, configuration: Mapping[str, Any] | None = None, **settings: Any
) -> OwnSolution:
    """Create a solution, with a configuration of the Interface service. Raises SettingsError."""
    if configuration is not None:
        settings["services"] = {INTERFACE: configuration}
    id = settings.pop("id", None) or solution_id(target)
    return OwnSolution(target, await target.in_lab(partial(make, target, id, **settings)))


def make(target: Target, id: str, **settings: Any) -> Solution:
    """Return a solution of the lab, without showing its warnings: a check reads them from the lab."""
    with FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore", LabWarning)
        return target.lab.solution(id, **settings)


async def refused(target: Target, configuration: Mapping[str, Any], **settings: Any) -> str:
    """Return the error with which a configuration is refused. Raises Mismatch if it is accepted."""
    try:
        made = await create_own(target, configuration, **settings)
    except SettingsError as error:
        return str(error)
    raise Mismatch("a configuration that is wrong", "that it is refused", f"{made.id}: {configuration}")


async def accepted(target: Target, configuration: Mapping[str, Any]) -> OwnSolution:
    """Create a publisher with this configuration. Raises Mismatch if it is refused."""
    try:
        return await create_own(target, configuration)
    except SettingsError as error:
        raise Mismatch(
            "a configuration that is right", f"that {configuration} is taken", str(error)
        ) from None
