"""Answers byte by byte, under both profiles and each setting of the wire."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp.http_writer import StreamWriter

from labkit.devices.content import PIECE
from tests.cases import cases
from tests.device_api.rig import ACTIVATE, ALIAS, DOWNLOAD, RECORD, Client, DeviceRig, Headers
from tests.device_api.rig import device_rig as lab

NOW = 1767225600
DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
TAIL = f"Date: {DATE}\r\nServer: labkit\r\n"
FORM = "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"
TEXT = "Content-Type: text/plain; charset=utf-8\r\n"
TEN = b"0123456789"
PROFILES = ["spec", "field"]


async def exact(
    client: Client, method: str, path: str, body: str | None = None, headers: Headers = ()
) -> str:
    """Return all bytes of an answer; the client requests `Connection: close`, so the server closes."""
    client.send(method, path, body, headers=[*headers, ("Connection", "close")])
    return (await client.rest()).decode()


async def device(rig: DeviceRig) -> Client:
    """Return a device on a fresh connection, with a stored value."""
    client = await rig.device()
    await client.ask("POST", ALIAS, "text=x")
    await rig.platform.devices.content.add("token", "fw", TEN, "text/plain")
    return client


@pytest.fixture(params=PROFILES)
def profile(request: pytest.FixtureRequest) -> str:
    return str(request.param)


CLOSE = "Connection: close\r\n"


# --- 204 and 304 --------------------------------------------------------------------------------------------


@cases(
    ("method", "path", "body"),
    [
        ("POST", ALIAS, "text=y"),
        ("POST", f"{ALIAS}?number", "text=y"),
        ("POST", RECORD, "alias=text&5=y"),
        ("GET", f"{ALIAS}?number", None),
    ],
)
async def test_a_204(profile: str, method: str, path: str, body: str | None) -> None:
    async with lab(profile=profile) as rig:
        came = await exact(await device(rig), method, path, body)
    length = {"spec": "Content-Length: 0\r\n", "field": ""}[profile]
    assert came == f"HTTP/1.1 204 No Content\r\n{TAIL}{CLOSE}{length}\r\n"


async def test_a_204_of_a_password_and_of_options(profile: str) -> None:
    length = {"spec": "0", "field": None}[profile]
    async with lab(profile=profile) as rig:
        password = await rig.connect("password")
        answer = await password.ask("POST", ACTIVATE, f"id=d&password={'x' * 20}")
        assert (answer.status, answer.header("Content-Length")) == (204, length)
        assert (await password.ask("OPTIONS", ALIAS)).header("Content-Length") == length


async def test_a_304(profile: str) -> None:
    async with lab(profile=profile) as rig:
        came = await exact(await device(rig), "GET", f"{ALIAS}?text", headers=[("Request-Timeout", "0")])
    assert came == f"HTTP/1.1 304 Not Modified\r\n{TAIL}{CLOSE}\r\n"


# --- 200 ----------------------------------------------------------------------------------------------------


async def test_a_read(profile: str) -> None:
    async with lab(profile=profile) as rig:
        came = await exact(await device(rig), "GET", f"{ALIAS}?text")
    assert came == f"HTTP/1.1 200 OK\r\n{FORM}Content-Length: 6\r\n{TAIL}{CLOSE}\r\ntext=x"


async def test_a_timestamp(profile: str) -> None:
    async with lab(profile=profile) as rig:
        came = await exact(await rig.connect(), "GET", "/timestamp")
        head = await exact(await rig.connect(), "HEAD", "/timestamp")
    assert came == f"HTTP/1.1 200 OK\r\n{TEXT}Content-Length: 10\r\n{TAIL}{CLOSE}\r\n{NOW}"
    assert head == came.removesuffix(str(NOW))


async def test_a_refusal(profile: str) -> None:
    async with lab(profile=profile) as rig:
        came = await exact(await rig.connect(), "GET", f"{ALIAS}?text")
    reason = "credentials are missing"
    assert came == (
        f"HTTP/1.1 401 Unauthorized\r\n{TEXT}WWW-Authenticate: Token\r\nContent-Length: {len(reason)}\r\n"
        f"{TAIL}{CLOSE}\r\n{reason}"
    )


# --- changed by faults --------------------------------------------------------------------------------------


async def test_a_fault_may_remove_the_type() -> None:
    async with lab(faults=[{"where": "GET /timestamp", "headers": {"Content-Type": ""}}]) as rig:
        came = await exact(await rig.connect(), "GET", "/timestamp")
    assert came == f"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n{TAIL}{CLOSE}\r\n{NOW}"


async def test_a_fault_may_refuse_with_a_status_that_has_no_name() -> None:
    async with lab(faults=[{"where": "GET /timestamp", "status": 599, "first": 1}]) as rig:
        client = await rig.connect()
        for status in (599, 200):
            assert (await client.ask("GET", "/timestamp")).status == status


# --- downloads ----------------------------------------------------------------------------------------------

LENGTH = "Content-Length: 10\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
CHUNKS = "a\r\n0123456789\r\n0\r\n\r\n"
FRAMINGS = {
    "both": (CHUNKED, LENGTH, CHUNKS),
    "chunked": (CHUNKED, "", CHUNKS),
    "length": ("", LENGTH, TEN.decode()),
}


@cases("framing", FRAMINGS)
async def test_a_download(profile: str, framing: str) -> None:
    async with lab(profile=profile, wire={"download_framing": framing}) as rig:
        came = await exact(await device(rig), "GET", f"{DOWNLOAD}?id=fw")
    head, _, body = came.partition("\r\n\r\n")
    chunked, length, expected = FRAMINGS[framing]
    assert body == expected
    lines = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{chunked}{length}{TAIL}{CLOSE}"
    assert sorted(head.split("\r\n")) == sorted(lines.split("\r\n")[:-1])


@cases("framing", ["both", "chunked"])
@cases("size", [0, 1, PIECE, PIECE + 1, 3 * PIECE])
async def test_the_body_of_a_download_is_chunked_as_set(framing: str, size: int) -> None:
    async with lab(wire={"download_framing": framing}) as rig:
        client = await rig.device()
        await rig.platform.devices.content.add("token", "fw", b"x" * size)
        answer = await client.ask("GET", f"{DOWNLOAD}?id=fw")
        assert answer.body == b"x" * size
        assert sum(answer.chunks) == size
        assert len(answer.chunks) == -(-size // PIECE)
        assert (await client.ask("GET", "/timestamp")).status == 200  # the connection stays open


@cases("framing", FRAMINGS)
async def test_an_http_1_0_client_gets_a_length(framing: str) -> None:
    async with lab(wire={"download_framing": framing}) as rig:
        client = await device(rig)
        client.write(
            f"GET {DOWNLOAD}?id=fw HTTP/1.0\r\nHost: {client.host}\r\n"
            f"X-Platform-CIK: {client.credentials[0][1]}\r\n\r\n".encode()
        )
        came = (await client.rest()).decode()
    assert came.startswith("HTTP/1.0 200 OK\r\n")
    assert came.endswith("\r\n\r\n0123456789")
    assert "Transfer-Encoding" not in came
    assert LENGTH in came


# --- requests -----------------------------------------------------------------------------------------------


async def test_pipelined_requests_in_one_piece_are_answered_in_order(rig: DeviceRig) -> None:
    client = await rig.device()
    for number in range(5):
        client.send("POST", f"{ALIAS}?text", f"text={number}")
    assert [(await client.answer()).pairs for _ in range(5)] == [
        [("text", str(number))] for number in range(5)
    ]


async def test_the_same_bytes_over_tls(rig: DeviceRig) -> None:
    plain = await device(rig)
    secure = await rig.connect(tls=True)
    secure.credentials = plain.credentials
    for path in (f"{ALIAS}?text", "/timestamp", f"{DOWNLOAD}?id=fw", "/nothing"):
        assert (await secure.ask("GET", path)) == (await plain.ask("GET", path))


# --- number of writes per answer ----------------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["both", "length", "chunked"])
@pytest.mark.parametrize(
    ("method", "requested", "size", "writes"),
    [
        ("GET", None, 10, 1),
        ("GET", "bytes=2-5", 10, 1),
        ("GET", None, 0, 1),
        ("GET", None, PIECE, 1),
        ("GET", None, PIECE + 1, 2),
        ("HEAD", None, PIECE + 1, 1),
    ],
)
async def test_the_head_of_a_download_is_written_with_its_first_piece(
    monkeypatch: pytest.MonkeyPatch, framing: str, method: str, requested: str | None, size: int, writes: int
) -> None:
    counted: list[int] = []

    def counting(original: Any) -> Any:
        def count(self: StreamWriter, data: Any) -> None:
            counted.append(len(data))
            original(self, data)

        return count

    for name in ("_write", "_writelines"):
        monkeypatch.setattr(StreamWriter, name, counting(getattr(StreamWriter, name)))
    async with lab(wire={"download_framing": framing}) as rig:
        client = await rig.device()
        await rig.platform.devices.content.add("token", "fw", b"x" * size)
        counted.clear()
        headers = [] if requested is None else [("Range", requested)]
        answer = await client.ask(method, f"{DOWNLOAD}?id=fw", headers=headers)
        assert len(answer.body) == (0 if method == "HEAD" else 4 if requested else size)
        assert len(counted) == writes
