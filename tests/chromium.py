"""Headless Chromium, driven over its DevTools protocol, for tests of pages.

It takes a second to start: the fixture `chromium_port` starts one for a worker's whole session, and each test gets a
tab with its own cookies and storage.
"""

from __future__ import annotations

import base64
import itertools
import os
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.guard import PATIENCE

COMMAND = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run"

needs_chromium = pytest.mark.skipif(COMMAND is None, reason="no chromium here")
AXE = Path(os.environ.get("LABKIT_AXE_FOLDER", "")) / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason="LABKIT_AXE_FOLDER names no folder that axe-core was installed into"
)
FAULTS = """axe.run().then(found => found.violations.map(each =>
    `${each.id}: ${each.nodes.slice(0, 5).map(node => node.html.slice(0, 200)).join(', ')}`))"""


@contextmanager
def started(folder: Path) -> Iterator[int]:
    """Provide a browser without a tab, as the port that it listens on. folder: of its profile."""
    options = [*FLAGS.split(), "--remote-debugging-port=0", f"--user-data-dir={folder}"]
    process = subprocess.Popen([str(COMMAND), *options], stderr=subprocess.PIPE, text=True, errors="replace")
    assert process.stderr is not None
    try:
        port = _port(process.stderr)
        rest = threading.Thread(
            target=process.stderr.read, daemon=True
        )  # otherwise Chromium blocks once the pipe is full
        rest.start()
        yield port
    finally:
        process.kill()
        process.wait()
    rest.join()
    process.stderr.close()


class Tab:
    """A tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._count = itertools.count(1)
        self._said: list[str] = []
        self._errors: list[str] = []

    async def goto(self, url: str) -> None:
        """Open a URL, and return once the page is loaded, after all redirects."""
        await self._send("Page.navigate", url=url)
        await self._loaded()

    async def click(self, selector: str) -> None:
        """Click an element that leads to another page, and return once that page is loaded."""
        await self._send(
            "Runtime.evaluate", expression=f"document.querySelector({selector!r}).click()", userGesture=True
        )
        await self._loaded()

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, or of the promise that it results in."""
        answer = await self.command(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def key(self, name: str) -> None:
        """Press and release a key: Tab, Enter, Escape or a character."""
        code, text = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, "")}.get(name, (0, name))
        given = {"key": name, "windowsVirtualKeyCode": code, "text": text}
        await self.command("Input.dispatchKeyEvent", type="keyDown", **given)
        await self.command("Input.dispatchKeyEvent", type="keyUp", **given)

    async def size(self, width: int, medium: str = "screen", colours: str = "light") -> None:
        """Set the width in pixels, the medium (screen or print) and the colours that are preferred (light or dark)."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        await self.command("Emulation.setDeviceMetricsOverride", **metrics)
        await self.command(
            "Emulation.setEmulatedMedia",
            media=medium,
            features=[{"name": "prefers-color-scheme", "value": colours}],
        )

    async def screenshot(self) -> bytes:
        """Return a screenshot of the visible page as PNG."""
        answer = await self.command("Page.captureScreenshot", format="png")
        return base64.b64decode(answer["data"])

    async def log_entries(self) -> list[str]:
        """Return the browser's log entries so far: blocked by a policy, not found, and so on."""
        await self.evaluate("0")  # DevTools delivers messages in order
        return self._said

    async def errors(self) -> list[str]:
        """Return the errors on the browser's console so far, and exceptions that no script caught."""
        await self.evaluate("0")  # DevTools delivers messages in order
        return self._errors

    async def page(self) -> str:
        """Return the current HTML of the page."""
        return str(await self.evaluate("document.documentElement.outerHTML"))

    async def enable(self) -> None:
        """Subscribe to loads of pages, log entries and errors."""
        for domain in ("Page", "Log", "Runtime"):
            await self.command(f"{domain}.enable")

    async def command(self, method: str, **parameters: object) -> dict[str, Any]:
        """Return DevTools' answer to a command."""
        return await self._answer(await self._send(method, **parameters))

    async def _send(self, method: str, **parameters: object) -> int:
        number = next(self._count)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        return number

    async def _answer(self, number: int) -> dict[str, Any]:
        while True:
            message = await self._receive()
            if message.get("id") == number:
                result: dict[str, Any] = message["result"]
                return result

    async def _loaded(self) -> None:
        while (await self._receive()).get("method") != "Page.loadEventFired":
            pass

    async def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._socket.receive_json(timeout=PATIENCE)
        match message:
            case {
                "method": "Log.entryAdded",
                "params": {"entry": {"level": "error", "text": text}},
            }:
                self._errors.append(str(text))
            case {"method": "Runtime.consoleAPICalled", "params": {"type": "error" | "assert"}}:
                self._errors.append(str(message["params"]["args"]))
            case {"method": "Runtime.exceptionThrown"}:
                self._errors.append(str(message["params"]["exceptionDetails"]))
        match message.get("method"):
            case "Log.entryAdded":
                self._said.append(message["params"]["entry"]["text"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self._said.append(str(message["params"]))
        return message


async def barriers(tab: Tab, url: str) -> list[str]:
    """Return what axe-core finds on a page that keeps people from using it: narrow and wide, light and dark."""
    found = []
    for colours in ("light", "dark"):
        for width in (400, 1200):
            await tab.size(width, colours=colours)
            await tab.goto(url)
            assert await tab.evaluate(f"matchMedia('(prefers-color-scheme: {colours})').matches")
            await tab.evaluate(f"{AXE.read_text()}; 0")
            found += [f"{colours}, {width} px: {each}" for each in await tab.evaluate(FAULTS)]
    return found


@asynccontextmanager
async def browser(port: int, *, insecure: bool = False) -> AsyncIterator[Tab]:
    """Provide a tab of the browser at a port, with its own cookies, storage and caches.

    insecure: accept any certificate. Chromium resolves names below `localhost` without DNS.
    """
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/json/version") as answer:
            url = (await answer.json())["webSocketDebuggerUrl"]
        async with session.ws_connect(url) as socket:
            whole = Tab(socket)
            context = (await whole.command("Target.createBrowserContext"))["browserContextId"]
            made = await whole.command("Target.createTarget", url="about:blank", browserContextId=context)
            page = f"ws://127.0.0.1:{port}/devtools/page/{made['targetId']}"
            async with session.ws_connect(page, max_msg_size=0) as own:
                tab = Tab(own)
                try:
                    await tab.enable()
                    if insecure:
                        await tab.command("Security.setIgnoreCertificateErrors", ignore=True)
                    yield tab
                finally:
                    await whole.command("Target.disposeBrowserContext", browserContextId=context)


def _port(lines: Iterable[str]) -> int:
    """Return the port that Chromium reports to listen on."""
    for line in lines:
        if line.startswith("DevTools listening on"):
            return int(line.rpartition(":")[2].partition("/")[0])
    raise AssertionError("chromium ended before it listened")
