"""Concurrent changes of a subscriber."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance.check import check
from labkit.conformance.interface.partners import INTERFACE, create_own
from labkit.conformance.probe import same
from labkit.conformance.target import Target


@check(
    "IFC-SUB-14",
    "no change is lost of those that a publisher and its subscriber make concurrently",
    needs={"settings"},
)
async def at_once(target: Target) -> None:
    publisher, home = await create_own(target, {"default_script_key": "meter"}), await create_own(target)
    await home.subscribe(publisher, parameters={"a": 0, "kept": True}, quota={"calls_daily": 1})

    async def publishers(services: Any) -> Any:
        changes: list[dict[str, Any]] = [
            {"parameters": {"a": 1}},
            {"parameters": {"b": {"c": []}}},
            {"quota": {"calls_monthly": 5}},
            {"quota": {"calls_daily": None}, "parameters": {"d": "é"}},
        ]
        call = services.Interface.setSubscriber
        return await asyncio.gather(*(call(subscriber_id=home.id, **each) for each in changes))

    async def subscribers(services: Any) -> Any:
        call = services.Config.setParameters
        return await asyncio.gather(*(call(service="meter", parameters={each: 1}) for each in "efg"))

    await target.in_lab(publisher.handle.route, "POST", "/change", publishers)
    await target.in_lab(home.handle.route, "POST", "/change", subscribers)
    await asyncio.gather(*(target.in_lab(each.handle.post, "/change") for each in (publisher, home)))
    found = await publisher.call(INTERFACE, "getSubscriber", subscriber_id=home.id)
    wanted = {"a": 1, "kept": True, "b": {"c": []}, "d": "é", "e": 1, "f": 1, "g": 1}
    same("parameters", found.get("parameters"), wanted)
    same("quota", found.get("quota"), {"calls_monthly": 5})
