"""Labs that run in another process: a server that ends, restarts or cannot store."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from labkit import LabError
from labkit.control.over_http.client import ControlClient
from labkit.control.over_http.operations import operations
from labkit.core.errors import StorageError
from tests.lab.conftest import Serve, connected
from tests.lab.test_connect import RESOURCES, TOKEN, free_port

pytestmark = pytest.mark.xdist_group("served")


@pytest.mark.parametrize(
    "head", ["Transfer-Encoding: chunked\r\n\r\n9\r\ndata: {", "Content-Length: 9\r\n\r\n{"]
)
async def test_a_server_that_ends_within_an_answer(head: str) -> None:
    """As a killed one does: what is missing is no matter of the transfer coding."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(f"HTTP/1.1 200 OK\r\n{head}".encode())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ended = f"^the lab at http://127.0.0.1:{port} has ended, or the connection to it$"
    async with server, ControlClient(f"http://127.0.0.1:{port}", TOKEN) as client:
        with pytest.raises(LabError, match=ended):
            await client.call(operations()["clock.state"])
        with pytest.raises(LabError, match=ended):
            async for _ in client.follow(operations()["journal.follow"]):
                pass


def test_handles_survive_a_restart_of_the_server(serve: Serve, tmp_path: Path) -> None:
    products = "[{id: thermostat, resources: {n: number, m: number}}]"
    config = f"{{https_port: {free_port()}, data: {tmp_path / 'lab.db'}, products: {products}}}"
    port = str(free_port())
    ready = serve("--control", port, config=config, token=TOKEN)
    with connected(ready) as lab:
        device = lab.product("thermostat").device("t-1").activate()
        device.write(n=1)
        ready["process"].terminate()
        ready["process"].communicate()
        with pytest.raises(LabError, match="cannot be reached"):
            lab.settle()
        serve("--control", port, config=config, token=TOKEN)
        assert device.read("n") == {"n": "1"}
        device.write(m=2)  # not n, of which a second write in the same second would replace the first
        assert lab.sql("select count(*) as n from datapoint").n.tolist() == [2]


def test_a_server_that_ends_during_a_call(serve: Serve) -> None:
    ready = serve("--control", "--seed", "7")
    with connected(ready) as lab:
        lab.product("thermostat", resources=RESOURCES)
        wait = lab.product("thermostat").held("t-1", "message", within=60)
        killer = threading.Timer(0.2, ready["process"].kill)
        killer.start()
        with pytest.raises(LabError, match="cannot be reached"):
            wait.result()


def test_a_full_disk_is_a_storage_error() -> None:
    client = ControlClient("http://127.0.0.1:1", TOKEN)
    body = (
        b'{"title": "Insufficient Storage", "status": 507, "detail": "lab.db: full", "error": "StorageError"}'
    )
    error = client._refusal(507, body)
    assert isinstance(error, StorageError)
    assert (error.status, str(error)) == (507, "lab.db: full")
