"""Subscribers over restarts. The check starts a lab of its own, with a data file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from labkit.conformance.check import check
from labkit.conformance.probe import same
from labkit.conformance.target import Target

SETTINGS: list[dict[str, Any]] = [
    {"id": "one", "services": {"Interface": {"default_script_key": "bell"}}},
    *({"id": name} for name in ("a", "m", "z")),
]


@check(
    "IFC-SUB-13",
    "subscribers stay in the order of subscribing over restarts, with and without a regular end",
    needs={"settings"},
)
async def over_restarts(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_over_restarts, Path(folder) / "lab.db")


def _over_restarts(file: Path) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, data=file, solutions=SETTINGS) as lab:
        one = lab.solution("one")
        for name in ("z", "a", "m"):
            lab.solution(name).subscribe(one, parameters={"from": name}, quota={"calls_daily": 2})
            lab.clock.advance(1)
        one.Interface.setSubscriber(subscriber_id="a", parameters={"more": [{}]})
        wanted = one.Interface.listSubscribers()
        same("who is listed", [each["solution_id"] for each in wanted["items"]], ["z", "a", "m"])
        lab.restart()
        same("who is listed after a cut", one.Interface.listSubscribers(), wanted)
    with Lab(1, data=file, solutions=SETTINGS) as lab:
        one = lab.solution("one")
        same("who is listed after a stop", one.Interface.listSubscribers(), wanted)
        page = one.Interface.listSubscribers(offset=1, limit=1)
        same("a page of it", page, {"items": wanted["items"][1:2], "total": 3})
