"""The end of a body, in pieces of any size."""

from hypothesis import given
from hypothesis import strategies as st

from labkit.edge.framing import Chunked, Framing, Length, holds_whole_body
from tests.cases import cases

NEXT = b"GET / HTTP/1.1\r\n\r\n"


def taken(framing: Framing, pieces: list[bytes]) -> bytes:
    """Return the part of the pieces that belongs to the body; they continue beyond it."""
    body = b""
    for piece in pieces:
        if not framing.done:
            body += piece[: framing.take(piece, 0)]
    return body


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted(min(each, len(data)) for each in cuts)
    return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


CUTS = st.lists(st.integers(0, 200), max_size=6)


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=4),
    extension=st.sampled_from([b"", b";a=b", b' ; a="' + b"x" * 50 + b'"']),
    trailers=st.sampled_from([b"", b"T: t\r\n", b"T: t\r\nU: 0\r\n"]),
    cuts=CUTS,
)
def test_a_chunked_body_ends_after_its_trailers(
    chunks: list[bytes], extension: bytes, trailers: bytes, cuts: list[int]
) -> None:
    body = b"".join(b"%X%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
    body += b"00" + extension + b"\r\n" + trailers + b"\r\n"
    framing = Chunked()
    assert taken(framing, cut(body + NEXT, cuts)) == body
    assert framing.done


@given(body=st.binary(max_size=100), cuts=CUTS)
def test_a_body_with_a_length_ends_after_it(body: bytes, cuts: list[int]) -> None:
    framing = Length(len(body))
    assert taken(framing, cut(body + NEXT, cuts)) == body
    assert framing.done


@given(st.sampled_from([b"xyz\r\n", b"-1\r\n", b"\r\n", b"1_0\r\n" * 2]), CUTS)
def test_a_malformed_body_has_no_end(body: bytes, cuts: list[int]) -> None:
    framing = Chunked()
    assert taken(framing, cut(body + NEXT * 20, cuts)) == body + NEXT * 20
    assert not framing.done


@cases(
    ("fields", "size", "whole"),
    [
        (b"Content-Length: 5", 5, True),
        (b"CONTENT-LENGTH:5", 5, True),
        (b"Content-Length: 5", 6, False),
        (b"Content-Length: 5", 4, False),
        (b"X-Content-Length: 5", 5, False),
        (b"Content-Length: +5", 5, False),
        (b"Content-Length: 5, 5", 5, False),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked", 5, False),
        (b"Content-Length: 5\r\nTRANSFER-ENCODING : chunked", 5, False),
        (b"Content-Length: 5\r\nConnection: Upgrade\r\nUpgrade: h2c", 5, False),
        (b"Accept: */*", 5, False),
    ],
)
def test_bytes_received_with_a_head_are_its_body_if_its_framing_agrees(
    fields: bytes, size: int, whole: bool
) -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\n" + fields + b"\r\n\r\n"
    assert holds_whole_body(head, size) is whole
    assert not holds_whole_body(head.replace(b"POST /", b"CONNECT a:1"), size)
