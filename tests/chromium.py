"""Headless Chromium: shows a page once, or is driven over its DevTools protocol, for pages that people use."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from labkit.fleet.flow import Address

COMMAND = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run"
PATIENCE = 60.0  # seconds of real time

needs_chromium = pytest.mark.skipif(COMMAND is None, reason="no chromium here")


def shown(url: str, folder: Path, *flags: str) -> tuple[str, list[str]]:
    """The page that a URL leads to, and what the browser says about it on its console. folder: of its profile."""
    options = [*FLAGS.split(), *flags, "--enable-logging=stderr", "--dump-dom", f"--user-data-dir={folder}"]
    ended = subprocess.run(
        [str(COMMAND), *options, url], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return ended.stdout, re.findall(r"CONSOLE:\d+\] (.*)", ended.stderr)


class Tab:
    """A tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._count = itertools.count(1)

    async def goto(self, url: str) -> None:
        """Open a URL; returns once the page, wherever redirects led, is loaded."""
        await self._send("Page.navigate", url=url)
        await self._loaded()

    async def click(self, selector: str) -> None:
        """Press what leads to another page; returns once that is loaded."""
        await self._send(
            "Runtime.evaluate", expression=f"document.querySelector({selector!r}).click()", userGesture=True
        )
        await self._loaded()

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression, or of the promise that it gives."""
        answer = await self._answer(
            await self._send(
                "Runtime.evaluate",
                expression=expression,
                returnByValue=True,
                awaitPromise=True,
                userGesture=True,
            )
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def size(self, width: int, medium: str = "screen") -> None:
        """Be so many pixels wide, on a screen or as it will be printed."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        await self._answer(await self._send("Emulation.setDeviceMetricsOverride", **metrics))
        await self._answer(await self._send("Emulation.setEmulatedMedia", media=medium))

    async def screenshot(self) -> bytes:
        """What is to be seen, as a PNG."""
        answer = await self._answer(await self._send("Page.captureScreenshot", format="png"))
        return base64.b64decode(answer["data"])

    async def enable(self) -> None:
        """Hear of pages that are loaded."""
        await self._answer(await self._send("Page.enable"))

    async def _send(self, method: str, **parameters: object) -> int:
        number = next(self._count)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        return number

    async def _answer(self, number: int) -> dict[str, Any]:
        while True:
            message = await self._socket.receive_json(timeout=PATIENCE)
            if message.get("id") == number:
                result: dict[str, Any] = message["result"]
                return result

    async def _loaded(self) -> None:
        while (await self._socket.receive_json(timeout=PATIENCE)).get("method") != "Page.loadEventFired":
            pass


@asynccontextmanager
async def chromium(folder: Path, address: Address, host: str) -> AsyncIterator[Tab]:
    """A browser with one empty tab, which trusts the certificate that the lab at `address` shows for `host`.

    Names below `localhost` it finds by itself.
    """
    key = x509.load_der_x509_certificate(await _certificate(address, host)).public_key()
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    trust = f"--ignore-certificate-errors-spki-list={base64.b64encode(digest).decode()}"
    async with browser(folder, trust) as tab:
        yield tab


@asynccontextmanager
async def browser(folder: Path, *flags: str) -> AsyncIterator[Tab]:
    """A browser with one empty tab. folder: of its profile."""
    options = [*FLAGS.split(), "--remote-debugging-port=0", f"--user-data-dir={folder}", *flags]
    process = await asyncio.create_subprocess_exec(
        str(COMMAND),
        *options,
        "about:blank",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        limit=1024 * 1024,
    )
    try:
        port = await asyncio.wait_for(_port(process), PATIENCE)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                [target] = [each for each in await answer.json() if each["type"] == "page"]
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                tab = Tab(socket)
                await tab.enable()
                yield tab
    finally:
        process.kill()
        await process.communicate()


async def _certificate(address: Address, host: str) -> bytes:
    """The lab's certificate in DER, after its CA was verified."""
    _, writer = await asyncio.open_connection(
        address.host, address.https_port, ssl=address.context(), server_hostname=host
    )
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    assert isinstance(certificate, bytes)
    writer.close()
    await writer.wait_closed()
    return certificate


async def _port(process: asyncio.subprocess.Process) -> int:
    """The port that Chromium says it listens on."""
    assert process.stderr is not None
    async for line in process.stderr:
        text = line.decode(errors="replace")
        if text.startswith("DevTools listening on"):
            return int(text.rpartition(":")[2].partition("/")[0])
    raise AssertionError("chromium ended before it listened")
