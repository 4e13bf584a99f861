"""An hour of a firmware developer: a client in C, a lab of `labkit serve --control`, and its page in a browser."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.settings.notebooks import notebooks_folder
from tests.chromium import Tab, browser, needs_chromium
from tests.control.over_http.test_page_views import fill, press, seen, until, view
from tests.forked_starts import serving
from tests.guard import PATIENCE
from tests.testing.outside.test_clients import compiled, needs

pytestmark = [needs_chromium, needs("cc"), pytest.mark.xdist_group("chromium")]

LAB_YAML = f"""
https_port: 0
products:
  - id: thermostat
    resources: {{temperature: number, target: {{format: number, settable: true}}}}
solutions:
  - {{id: acme, products: [thermostat], path: {notebooks_folder() / "solutions" / "guide"}}}
"""
HOST, MISSPELT = "thermostat.m2.lab.localhost", "thermostats.m2.lab.localhost"
WRITE = "POST /onep:v1/stack/alias"
ANN = {"name": "Ann", "email": "ann@example.com", "password": "correct horse 7"}
TARGET = "[...document.querySelectorAll('main section tr')].find(each => each.innerText.startsWith('target'))"


async def open_view(tab: Tab, name: str) -> None:
    """Show a view, and return once each part of it has content."""
    await view(tab, name)
    await until(tab, "[...document.querySelectorAll('main .live')].every(each => each.childNodes.length)")


async def device(tab: Tab) -> None:
    """Show the device, which the view opens by itself once it was chosen."""
    await open_view(tab, "devices")
    await until(tab, "document.querySelector('main section dl')")


async def forget(tab: Tab) -> None:
    """Have the lab forget the credentials of the device, whose firmware keeps none."""
    await device(tab)
    await press(tab, "Forget its credentials")
    await until(tab, "document.querySelector('main section dd')?.textContent === 'not activated'")


async def write_target(tab: Tab, value: int) -> None:
    """Write the device's target from the cloud, and return once the page shows it."""
    await fill(tab, "Resource", "target")
    await fill(tab, "Value", str(value))
    await press(tab, "Write from the cloud")
    await until(tab, f"{TARGET}?.cells[1].textContent === '{value}'")


async def test_the_hour(tmp_path: Path, chromium_port: int) -> None:
    program = compiled(tmp_path, "firmware.c", "curl")
    config = tmp_path / "lab.yaml"
    config.write_text(LAB_YAML)
    arguments = ("--config", config, "--seed", "7", "--control", "--log", "none")
    with serving(*arguments) as (_, ready), Lab.connect(**ready["control"]) as lab:
        run = board(program, ready)
        async with browser(chromium_port) as tab:
            await tab.goto(await asyncio.to_thread(lab.page))
            await until(tab, "document.querySelector('#state').textContent === 'following'")
            await a_name_is_misspelt_and_mended(tab, run)
            await a_poll_is_answered(tab, run)
            await a_fault_hits(tab, run)
            await asyncio.to_thread(lab.solution("acme").post, "/api/user/signup", json=ANN)
            await a_mail_is_followed(tab)
            await a_snapshot_is_restored(tab)
            assert [each for each in await tab.errors() if "status of 4" not in each] == []


Run = Callable[..., Coroutine[None, None, tuple[list[str], str]]]


def board(program: Path, ready: dict[str, Any]) -> Run:
    """Return a function that runs the firmware, and returns the words of its output and what it wrote to stderr.

    Its arguments are those of the program's action, and the host.
    """
    port = ready["https_port"]

    async def run(*action: str, host: str = HOST) -> tuple[list[str], str]:
        command = [
            *(str(program), f"https://{host}:{port}", ready["ca_file"], f"{host}:{port}:127.0.0.1", "t-001"),
            *action,
        ]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            async with asyncio.timeout(PATIENCE):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        return out.decode().split(), err.decode()

    return run


async def a_name_is_misspelt_and_mended(tab: Tab, run: Run) -> None:
    said, error = await run("write", "21.5", host=MISSPELT)
    assert said == ["activate", "0"]
    assert MISSPELT not in error  # the device learns nothing
    await seen(tab, f"the server name (SNI) '{MISSPELT}' is not served here; from 127.0.0.1:")
    assert (await run("write", "21.5"))[0] == ["activate", "200", "write", "204"]
    await seen(tab, WRITE)


async def a_poll_is_answered(tab: Tab, run: Run) -> None:
    assert (await run("poll"))[0] == ["activate", "409"]
    await open_view(tab, "devices")
    await press(tab, "t-001")
    await seen(tab, "this identity is provisioned; present its credentials to replace them")
    await forget(tab)
    async with asyncio.TaskGroup() as group:
        polling = group.create_task(run("poll"))
        await seen(tab, "target until 2026-01-01 00:00:30")
        await write_target(tab, 19)
    assert polling.result()[0] == ["activate", "200", "poll", "200", "target=19"]


async def a_fault_hits(tab: Tab, run: Run) -> None:
    await forget(tab)
    await open_view(tab, "faults")
    await fill(tab, "where *", WRITE)
    await fill(tab, "status", "503")
    await fill(tab, "first", "1")
    await press(tab, "Add")
    await seen(tab, "0 of 0")
    assert (await run("write", "22"))[0] == ["activate", "200", "write", "503", "write", "204"]
    await seen(tab, "1 of 1")
    await press(tab, "Remove")
    await seen(tab, "all works as it should")


async def a_mail_is_followed(tab: Tab) -> None:
    await open_view(tab, "messages")
    await seen(tab, "Activate your account – to ann@example.com")
    await tab.evaluate("document.querySelector('details.mail').open = true")
    await press(tab, "Follow a link")
    await seen(tab, "The account is active: you can log in.")


async def a_snapshot_is_restored(tab: Tab) -> None:
    await open_view(tab, "snapshots")
    await fill(tab, "name", "before")
    await press(tab, "Keep")
    await seen(tab, "bytes")
    await device(tab)
    await write_target(tab, 25)
    await open_view(tab, "snapshots")
    await press(tab, "Restore")
    await until(tab, "document.querySelector('.code pre')?.textContent === 'lab.restore(name=\"before\")'")
    await device(tab)
    await until(tab, f"{TARGET}?.cells[1].textContent === '19'")
