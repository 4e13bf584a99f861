"""Fixtures of the edge's tests, which run on both event loops: an edge and clients, TLS engines, parsers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import uvloop
from aiohttp.http_parser import HttpRequestParser, HttpRequestParserPy

from tests.edge.rig import EdgeRig


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def rig(caplog: pytest.LogCaptureFixture) -> AsyncIterator[EdgeRig]:
    """An edge that starts on first use. Nothing may reach the log or the loop's exception handler."""
    stray: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: stray.append(context))
    made = EdgeRig()
    with caplog.at_level(logging.INFO):
        yield made
        await made.close()
    assert stray == []
    assert caplog.records == []


@pytest.fixture(params=["ssl", "pyopenssl"])
def engine(request: pytest.FixtureRequest, rig: EdgeRig) -> str:
    """The TLS implementation of the edge: it is pyOpenSSL where a host wants certificates of clients."""
    rig.client_certificates = request.param == "pyopenssl"
    return str(request.param)


@pytest.fixture(params=["c", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The one of aiohttp's two parsers that reads requests."""
    if request.param == "python":
        monkeypatch.setattr("aiohttp.web_protocol.HttpRequestParser", HttpRequestParserPy)
    else:
        assert HttpRequestParser is not HttpRequestParserPy
    return str(request.param)
