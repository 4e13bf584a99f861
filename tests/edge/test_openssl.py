"""The pyOpenSSL side of TLS, in memory: all data is read, and no read is repeated needlessly."""

import ssl
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.core.certificates import client_certificate
from labkit.edge.certificates import Authority
from labkit.edge.names import ServerName
from labkit.edge.openssl import AnyClientContext, AnyClientObject, missing, record_length
from labkit.edge.tls import CIPHERS
from tests.cases import cases
from tests.edge.rig import HOST, EdgeRig

AUTHORITY = Authority.create()
CONTEXT = AnyClientContext(AUTHORITY.leaves([HOST]), CIPHERS, lambda name: ServerName(name or ""))
PAIR = client_certificate("t-001")


class Pair:
    """A client and a server after their handshake."""

    def __init__(self, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> None:
        rig = EdgeRig()
        self.up, self.down = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = rig.trusting(PAIR, version, AUTHORITY.ca_pem.decode())
        self.client = context.wrap_bio(self.down, self.up, server_hostname=HOST)
        self.server: AnyClientObject = CONTEXT.wrap_bio(self.up, self.down)
        for each_end in (self.client, self.server) * 3:
            with suppress(ssl.SSLWantReadError):
                each_end.do_handshake()
        assert self.server.server_name == HOST
        with pytest.raises(ssl.SSLWantReadError):
            self.server.read()

    def read_all(self) -> bytes:
        """Read as an event loop does that calls `pending` first."""
        came = b""
        with suppress(ssl.SSLWantReadError):
            while self.up.pending or self.server.pending():
                data = self.server.read(65536)
                assert isinstance(data, bytes)
                came += data
        return came


@given(
    writes=st.lists(st.integers(1, 40_000), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 100_000), max_size=6),
    version=st.sampled_from([ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]),
)
def test_input_in_any_pieces_is_decrypted_at_once(
    writes: list[int], cuts: list[int], version: ssl.TLSVersion
) -> None:
    pair = Pair(version)
    sent = b""
    for number, length in enumerate(writes):
        data = bytes([number]) * length
        while data:
            done = pair.client.write(data)
            sent, data = sent + data[:done], data[done:]
    wire = pair.up.read()
    came = b""
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(wire)], strict=True):
        pair.up.write(wire[start:end])
        came += pair.read_all()
    assert came == sent


def test_one_record_needs_one_read() -> None:
    pair = Pair()
    pair.client.write(b"hello")
    assert pair.server.read() == b"hello"
    assert pair.server.pending() == 0


def test_a_buffer_can_be_read_into() -> None:
    pair = Pair()
    pair.client.write(b"hello")
    buffer = bytearray(10)
    assert pair.server.read(3, memoryview(buffer)) == 3
    assert pair.server.pending() == 2
    assert pair.server.read(7, memoryview(buffer)[3:]) == 2
    assert buffer == b"hello" + bytes(5)


@cases("size", [1, 16_384, 16_385, 100_000])
def test_written_data_arrives(size: int) -> None:
    pair = Pair()
    assert pair.server.write(b"x" * size) == size
    came = b""
    while len(came) < size:
        came += pair.client.read(65536)
    assert came == b"x" * size


def test_the_end_is_an_empty_read_and_a_close_notify() -> None:
    pair = Pair()
    pair.client.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        pair.client.unwrap()
    assert pair.server.read() == b"last"
    assert pair.server.pending()
    assert pair.server.read() == b""
    pair.server.unwrap()
    pair.client.unwrap()


def test_close_notify_waits_for_the_client() -> None:
    pair = Pair()
    with pytest.raises(ssl.SSLWantReadError):
        pair.server.unwrap()
    pair.client.unwrap()
    pair.server.unwrap()


def test_input_that_cannot_be_decrypted_is_a_tls_error_and_answered_with_an_alert() -> None:
    pair = Pair()
    pair.up.write(b"\x17\x03\x03\x00\x20" + bytes(32))
    before = pair.down.pending
    with pytest.raises(ssl.SSLError, match="bad record mac"):
        pair.server.read()
    assert pair.down.pending > before


@given(lengths=st.lists(st.integers(0, 50), max_size=5), cut=st.integers(0, 300))
def test_missing_counts_from_any_cut_outside_a_header(lengths: list[int], cut: int) -> None:
    records = [b"\x17\x03\x03" + length.to_bytes(2, "big") + bytes(length) for length in lengths]
    wire = b"".join(records)
    cut = min(cut, len(wire))
    first = missing(wire[:cut], 0)
    assert missing(wire[cut:], first) in (0, -1)
    assert missing(wire, 0) == 0
    for record in records:
        assert record_length(record) == len(record)
    ends = [sum(map(len, records[:count])) for count in range(len(records) + 1)]
    inside_header = any(0 < cut - end < 5 for end in ends[:-1])
    assert (first == -1) == inside_header
