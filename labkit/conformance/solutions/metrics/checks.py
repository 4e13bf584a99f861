"""The metrics pattern: a solution that counts the messages of the day and shows the last ten.

All devices of the product count together, so each check measures only the effect of its own messages.
"""

from __future__ import annotations

import asyncio
import runpy
import time
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.probe import Probe, Table, decoded
from labkit.conformance.target import Target
from labkit.conformance.verdict import Mismatch, Unavailable
from labkit.fleet.device import VirtualDevice
from labkit.settings.notebooks import notebooks_folder

if TYPE_CHECKING:
    import httpx

    from labkit.lab.product import Product
    from labkit.lab.solution import Solution

METRICS, METERED = "metrics", "metered"
DAY = 86400


@check("SOL-MET-1", "GET /metrics has dailyCount as a text, and logs as an array of texts")
async def shape(target: Target) -> None:
    device = await target.activated(METERED)
    for message in ("hello", "21.5", "true", '{"a": 1}', "[]", "é 漢", " 21.50 ", 'quote " and \\ backslash'):
        metrics = await _after(target, device, message)
        expect.equal("the newest of the logs", metrics["logs"][:1], [message])
    response = await target.client(METRICS).request("GET", "/metrics")
    expect.equal("the names", sorted(decoded(expect.status(response, 200))), ["dailyCount", "logs"], response)


@check("SOL-MET-2", "each value that a device writes raises dailyCount by one")
async def each_value(target: Target) -> None:
    device, other = await target.activated(METERED), await target.activated(METERED)
    unlinked = await target.activated("content")
    today = await device_client.now(device) // DAY
    before = _count(await _after(target, device, target.identity()))
    for message in ("a", "a", "b"):
        expect.status(await device_client.write(device, {"text": message}), 204)
    expect.status(await device_client.write(other, {"text": "c", "number": 1, "flag": "true"}), 204)
    expect.status(await device_client.write(other, {"number": 2, "nowhere": "lost"}, "text"), 200)
    expect.status(await device_client.write(other, {"number": "no number"}), 400)
    expect.status(await device_client.read(device, "text"), 200)
    expect.status(await device_client.write(unlinked, {"text": "of another product"}), 204)
    await _after(target, other, target.identity())
    metrics = await _after(target, device, target.identity())
    if await device_client.now(device) // DAY != today:
        raise Unavailable("midnight came in between")
    expect.equal("how many came", _count(metrics) - before, 9)


@check("SOL-MET-3", "dailyCount stands until midnight UTC, and starts anew after it", needs={"clock"})
async def midnight(target: Target) -> None:
    device = await target.activated(METERED)
    await _advance_to(target, device, DAY + 1)  # a new day without messages
    expect.equal("count of a morning", _count(await _after(target, device, target.identity())), 1)
    await _advance_to(target, device, DAY // 2)
    expect.equal("count at noon", _count(await _after(target, device, target.identity())), 2)
    await _advance_to(target, device, DAY - 1)
    before = await _metrics(target)
    expect.equal("count before midnight", _count(before), 2)
    await _advance_to(target, device, DAY + 1)
    after = await _metrics(target)
    expect.equal("count after midnight", _count(after), 0)
    expect.equal("logs after midnight", after["logs"], before["logs"])
    message = target.identity()
    metrics = await _after(target, device, message)
    expect.equal("count after the first message", _count(metrics), 1)
    expect.equal("the newest of the logs", metrics["logs"][:1], [message])


@check("SOL-MET-4", "logs has the last ten messages, the newest first")
async def last_ten(target: Target) -> None:
    device, sent = await target.activated(METERED), [target.identity() for _ in range(13)]
    for message in sent[:-1]:
        expect.status(await device_client.write(device, {"text": message}), 204)
    metrics = await _after(target, device, sent[-1])
    expect.equal("logs", metrics["logs"], sent[:-11:-1])
    for count, message in enumerate(("again", "again", "and again"), 1):
        metrics = await _after(target, device, f"{message} {sent[0]} {count}")
        expect.equal("how many there are", len(metrics["logs"]), 10)


@check("SOL-MET-5", "before the first message logs is []", needs={"settings"})
async def nothing_yet(target: Target) -> None:
    solution = (await _own_pattern(target, "lua"))[1]
    response = await target.in_lab(solution.get, "/metrics")
    expect.equal("the body", expect.status(response, 200).text, '{"dailyCount":"0","logs":[]}', response)


@check("SOL-MET-6", "the pattern in Python gives the same answers as in Lua", needs={"settings", "clock"})
async def twins(target: Target) -> None:
    shown: dict[str, list[tuple[int, str | None, str]]] = {"lua": [], "python": []}
    now = int(await target.in_lab(lambda: target.lab.clock.time))
    await target.advance(DAY - now % DAY)
    for language, answers in shown.items():
        product, solution = await _own_pattern(target, language)
        device = await target.in_lab(product.device("d-1").activate)

        async def look(solution: Solution = solution, to: list[Any] = answers) -> None:
            await target.settle()
            response: httpx.Response = await target.in_lab(solution.get, "/metrics")
            to.append((response.status_code, response.headers.get("Content-Type"), response.text))

        await look()
        for number in range(12):
            await target.in_lab(device.write, text=f'message {number} "é"', number=number)
            await look()
        await target.advance(DAY + 1)
        await look()
        await target.in_lab(device.write, text="")
        await look()
        await target.advance(DAY - 1)
    expect.equal("answers of the twin in Python", shown["python"], shown["lua"])
    expect.equal("the last but one", shown["lua"][-3][2][:18], '{"dailyCount":"24"')


# ---- helpers


async def _metrics(target: Target) -> Table:
    """Return the JSON of GET /metrics. Raises Mismatch if it has not the documented form."""
    probe = Probe(target, METRICS)
    found = await probe.ask("GET", "/metrics")
    fits = (
        isinstance(found, dict)
        and isinstance(found.get("dailyCount"), str)
        and isinstance(found.get("logs"), list)
        and all(isinstance(each, str) for each in found["logs"])
    )
    expect.true("dailyCount is a text, logs an array of texts", fits, found, probe.last)
    return dict(found)


async def _after(target: Target, device: VirtualDevice, message: str) -> Table:
    """Write a message and return the metrics once they include it and all earlier ones of the device."""
    expect.status(await device_client.write(device, {"text": message}), 204)
    until = time.monotonic() + device_client.GRACE
    while True:
        if "journal" in target.offers:
            await target.settle()
        metrics = await _metrics(target)
        late = "journal" in target.offers or time.monotonic() > until
        # The handler adds a message before it cuts the list.
        if message in metrics["logs"] and (len(metrics["logs"]) <= 10 or late):
            return metrics
        if late:
            raise Mismatch("logs", f"one that is {message}", metrics)
        await asyncio.sleep(0.02)


def _count(metrics: Table) -> int:
    text = metrics["dailyCount"]
    if not text.isdecimal():
        raise Mismatch("dailyCount", "digits", text)
    return int(text)


async def _advance_to(target: Target, device: VirtualDevice, second: int) -> None:
    """Advance the clock to a second of the day, of the next day if it is already past."""
    now = await device_client.now(device)
    await target.in_lab(target.lab.clock.advance_to, float(now - now % DAY + second))


async def _own_pattern(target: Target, language: str) -> tuple[Product, Solution]:
    """Return a new product and a solution with the pattern for it; needs a lab in this process."""
    name = target.identity()
    resources = {"text": "string", "number": "number"}
    product = await target.in_lab(target.lab.product, name, resources=resources)
    examples = notebooks_folder() / "solutions"
    folder = examples / "metrics" if language == "lua" else None
    solution = await target.in_lab(target.lab.solution, name, products=[product], path=folder)
    if language == "python":
        twin = runpy.run_path(str(examples / "metrics_python.py"))
        await target.in_lab(twin["register"], solution)
    return product, solution
