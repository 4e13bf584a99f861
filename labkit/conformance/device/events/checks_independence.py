"""Independence of events: handlers of other solutions and events of other devices do not wait."""

from __future__ import annotations

import threading
import time
from typing import Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.target import Target


@check(
    "DEV-EVT-12",
    "while a handler runs, handlers of other solutions and for other devices run",
    needs={"settings"},
)
async def apart(target: Target) -> None:
    lab, name = target.lab, target.identity()
    product = await target.in_lab(lab.product, name, resources={"a": "string"})
    slow, quick = [await target.in_lab(lab.solution, f"{name}-{each}", products=[product]) for each in (1, 2)]
    one, other = [await target.in_lab(product.device(f"{name}-{each}").activate) for each in (1, 2)]
    go_on = threading.Event()
    began: list[str] = []
    seen: list[str] = []

    def wait(data: dict[str, Any]) -> None:
        began.append(data["value"][1])
        go_on.wait(device_client.GRACE)

    def note(data: dict[str, Any]) -> None:
        seen.append(data["value"][1])

    await target.in_lab(slow.on, "device", "datapoint", wait)
    await target.in_lab(quick.on, "device", "datapoint", note)
    for device, value in ((one, "1"), (one, "2"), (other, "3")):
        await target.in_lab(device.write, a=value)
    until = time.monotonic() + device_client.GRACE / 2
    while (len(seen) < 3 or len(began) < 2) and time.monotonic() < until:
        await target.in_lab(time.sleep, 0.001)
    meanwhile = sorted(seen), sorted(began)
    go_on.set()
    await target.settle()
    expect.equal("events of the other solution meanwhile", meanwhile[0], ["1", "2", "3"])
    expect.equal("events of the slow one meanwhile", meanwhile[1], ["1", "3"])
    expect.equal("events of the slow one in the end", sorted(began), ["1", "2", "3"])
