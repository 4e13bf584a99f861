"""Time limits of checks: each ends in time whatever its target does, and its verdict names what it waited for."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from labkit.conformance import check as checking
from labkit.conformance import processes, runner
from labkit.conformance.catalogue import Catalogue, load
from labkit.conformance.check import Function, all_checks, check
from labkit.conformance.fork_server import Ended, ForkServer, Message
from labkit.conformance.models import search as searching
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Verdict
from labkit.core.certificates import authority, server_certificate
from labkit.device_api import content
from labkit.fleet.flow import LabAddress
from labkit.settings import load as load_settings

PATIENCE, ENDING = 0.5, 1.0  # seconds
MUST = "DEV-ALIAS-1"
CHECKS = (  # of each kind of client, by name
    *(
        "timestamp/is-plain-text",
        "content/whole",
        "http/versions",
        "write/model",
        "users/model",
        "roles/story",
    ),
    *("socials/oauth2", "guide/social", "tls/other-name", "certificates/activation"),
)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "PATIENCE", PATIENCE)
    monkeypatch.setattr(checking, "SECONDS", 0.5)
    monkeypatch.setattr(runner, "CLEANUP_SECONDS", ENDING)
    monkeypatch.setattr(searching, "STEP_TIMEOUT", 0.3)


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.02)


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"400\r\n" + b"." * 1024 + b"\r\n")
        await writer.drain()


async def redirecting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")


async def too_short(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send less than the announced length."""
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")


@asynccontextmanager
async def served(serve: Serve, folder: Path) -> AsyncIterator[Target]:
    settings = load_settings(LAB_YAML)
    ids = [*(each.id for each in settings.products), *(each.id for each in settings.solutions)]
    domains = {id: f"{id}.example" for id in ids}
    root = authority("hostile CA")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = server_certificate([*domains.values()], root)
    file = folder / "server.pem"
    file.write_bytes(pair.key_pem + pair.certificate_pem)
    context.load_cert_chain(file)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        port = server.sockets[0].getsockname()[1]
        yield Target(
            "hostile", LabAddress("127.0.0.1", port, root.certificate_pem.decode()), domains, settings
        )
    finally:
        server.close()


@pytest.mark.parametrize(
    "serve", [silent, dripping, endless, redirecting, too_short], ids=lambda each: each.__name__
)
async def test_a_check_ends_whatever_a_target_sends(
    serve: Serve, catalogue: Catalogue, tmp_path: Path
) -> None:
    found = [each for each in all_checks() if each.name in CHECKS]
    async with served(serve, tmp_path) as target:
        for each in found:
            began = time.monotonic()
            verdict = await runner.run_one(each, target, catalogue)
            assert time.monotonic() - began < checking.patience(each) + ENDING + 1, each.name
            assert verdict.outcome not in ("passed", "skipped"), verdict


async def judged(function: Function, target: Target, catalogue: Catalogue) -> Verdict:
    return await runner.run_one(check(MUST, "a check")(function), target, catalogue)


def nowhere() -> Target:
    return Target("nowhere", LabAddress("127.0.0.1", 1, ""), {}, load_settings(LAB_YAML))


async def test_a_silent_target_fails_and_the_verdict_has_the_line(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    async def function(target: Target) -> None:
        await target.client("token-open").request("GET", "/timestamp")

    async with served(silent, tmp_path) as target:
        verdict = await judged(function, target, catalogue)
    assert (verdict.outcome, verdict.reason) == ("failed", "an answer")
    assert verdict.expected == "one within 0.5 s"
    assert verdict.actual.startswith("none: it waits in ")


async def test_a_check_that_waits_for_itself_is_broken(catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        await asyncio.Event().wait()

    verdict = await judged(function, nowhere(), catalogue)
    assert verdict.outcome == "broken"
    assert verdict.reason.startswith("no end within 0.5 s: it waits in ")


async def test_a_lab_call_that_never_returns_fails_one_check_and_the_others_are_not_reached(
    catalogue: Catalogue,
) -> None:
    release = threading.Event()

    async def function(target: Target) -> None:
        await target.in_lab(release.wait)

    async def nothing(target: Target) -> None: ...

    target = nowhere()
    first = await judged(function, target, catalogue)
    second = await judged(nothing, target, catalogue)
    assert (first.outcome, second.outcome, second.cause) == ("failed", "not reached", MUST)
    release.set()
    while target.stuck:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert (await judged(nothing, target, catalogue)).outcome == "passed"


async def test_tasks_that_a_check_leaves_behind_are_ended_in_time(catalogue: Catalogue) -> None:
    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await asyncio.sleep(3600)

    async def function(target: Target) -> None:
        target.start(stubborn())
        await asyncio.sleep(0)

    began = time.monotonic()
    verdict = await judged(function, nowhere(), catalogue)
    assert verdict.outcome == "broken"
    assert time.monotonic() - began < 10


def play_with_a_platform_that_hangs(job: dict[str, Any], send: Callable[[Any], None]) -> None:
    """Run checks in this process: the last 10^18 bytes of a content, from a platform that does not stop at its
    beginning.
    """
    content.requested_range = lambda exchange, size: (size - 10**18, size - 1)
    checking.PATIENCE = 1.0
    runner.CLEANUP_SECONDS = 1.0  # type: ignore[attr-defined]
    processes.play_job(job, send)


@pytest.mark.xdist_group("forked")
def test_a_run_ends_even_if_the_labs_loop_is_blocked(server: ForkServer) -> None:
    names = ["content/clamped", "content/revoked", "content/changed"]
    job = {"checks": names, "target": "lab", "seed": 1, "folders": []}
    function = f"{__name__}:{play_with_a_platform_that_hangs.__name__}"
    *said, ended = server.run(function, [job], silence=30.0)
    assert ended == Ended(job, "", "")
    outcomes = {
        each.message["check"]: each.message["outcome"] for each in said[1:] if isinstance(each, Message)
    }
    assert outcomes == {
        "content/clamped": "warned", "content/revoked": "warned", "content/changed": "not reached"
    }  # fmt: skip
