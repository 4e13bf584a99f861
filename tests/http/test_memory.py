"""Transports in memory: order, flow control, and the ways in which a connection ends."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from labkit.http.memory import HIGH_WATER, MemoryTransport, connect_in_memory


class Received:
    """Receiver that stores its callbacks. `end` is done once the connection is lost."""

    def __init__(self) -> None:
        self.data = b""
        self.flow: list[str] = []
        self.end: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        assert not self.end.done()
        self.data += data

    def connection_lost(self, error: Exception | None) -> None:
        self.end.set_result(error)

    def pause_writing(self) -> None:
        self.flow.append("pause")

    def resume_writing(self) -> None:
        self.flow.append("resume")


def connected() -> tuple[MemoryTransport, Received, MemoryTransport, Received]:
    client, server = connect_in_memory("a.lab.localhost")
    client.receiver, server.receiver = at_client, at_server = Received(), Received()
    return client, at_client, server, at_server


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_data_arrives_in_a_later_turn_of_the_loop() -> None:
    client, _, server, at_server = connected()
    assert server.get_extra_info("memory_host") == "a.lab.localhost"
    client.write(b"one ")
    client.write(bytearray(b"two"))
    assert at_server.data == b""
    assert not server.silent
    await turns()
    assert at_server.data == b"one two"
    assert server.silent


async def test_what_is_written_before_an_orderly_end_arrives() -> None:
    client, at_client, server, at_server = connected()
    server.write(b"last words")
    server.close()
    server.write(b"too late")
    client.write(b"nobody reads this")
    assert await at_client.end is None
    assert await at_server.end is None
    assert (at_client.data, at_server.data) == (b"last words", b"")
    assert client.is_closing()
    client.abort()


async def test_an_end_with_unread_data_resets_the_connection() -> None:
    client, at_client, server, at_server = connected()
    client.pause_reading()
    server.write(b"answer")
    await turns()
    client.abort()
    assert isinstance(await at_server.end, ConnectionResetError)
    assert await at_client.end is None


async def test_a_reset_discards_what_has_not_been_read() -> None:
    client, _, server, at_server = connected()
    server.pause_reading()
    client.write(b"request")
    client.abort(reset=True)
    await turns()
    assert not at_server.end.done()
    server.resume_reading()
    assert isinstance(await at_server.end, ConnectionResetError)
    assert at_server.data == b""


async def test_an_end_is_not_seen_while_nothing_is_read() -> None:
    client, at_client, server, _ = connected()
    client.pause_reading()
    server.write(b"answer")
    server.close()
    await turns()
    assert not client.silent
    assert not client.is_reading()
    assert not at_client.end.done()
    client.resume_reading()
    assert await at_client.end is None
    assert at_client.data == b"answer"


async def test_a_writer_pauses_while_its_reader_does_not_read() -> None:
    client, _, server, at_server = connected()
    client.pause_reading()
    server.write(bytes(HIGH_WATER))
    assert at_server.flow == []
    server.write(b"x")
    server.write(b"x")
    assert at_server.flow == ["pause"]
    assert server.get_write_buffer_size() == HIGH_WATER + 2
    client.resume_reading()
    await turns()
    assert at_server.flow == ["pause", "resume"]
    assert server.get_write_buffer_size() == 0


@given(st.lists(st.sampled_from(["write", "pause", "resume", "turn"]), max_size=30))
async def test_nothing_is_lost_doubled_or_reordered(steps: list[str]) -> None:
    client, at_client, server, _ = connected()
    sent = b""
    for number, step in enumerate(steps):
        match step:
            case "write":
                data = bytes([number]) * (number + 1)
                server.write(data)
                sent += data
            case "pause":
                client.pause_reading()
            case "resume":
                client.resume_reading()
            case _:
                await turns(1)
    server.close()
    client.resume_reading()
    assert await at_client.end is None
    assert at_client.data == sent
