"""Parser of HTTP answers: every framing, split anywhere, hostile input; it agrees with h11 on all that h11 accepts."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.fleet.answer import HEAD, INTERIM, Answer, AnswerReader, MalformedError, RepeatedAnswer

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def whole(data: bytes, method: str = "GET", most: int = 1 << 20) -> Answer | None:
    reader = AnswerReader(most)
    reader.no_body = method == "HEAD"
    return reader.feed(data)


def pieces(data: bytes, sizes: list[int], method: str = "GET") -> Answer | None:
    """Parse an answer whose data comes in pieces of these sizes, and then ends."""
    reader = AnswerReader()
    reader.no_body = method == "HEAD"
    at = 0
    for size in [*sizes, len(data)]:
        if (answer := reader.feed(data[at : at + size])) is not None:
            return answer
        at += size
    return reader.end()


def refused(data: bytes, method: str = "GET", most: int = 1 << 20) -> str:
    with pytest.raises(MalformedError) as error:
        whole(data, method, most)
    return str(error.value)


# --- framings


def test_a_length() -> None:
    answer = whole(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello")
    assert answer is not None
    assert (answer.status_code, answer.content, answer.keep) == (200, b"hello", True)
    assert answer.headers == {"content-length": "5", "x-a": "b"}


def test_chunks_with_extensions_and_trailers() -> None:
    answer = whole(CHUNKED + b"5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-After: 1\r\n\r\n")
    assert answer is not None
    assert (answer.content, answer.keep) == (b"hello!", True)


def test_both_framings_at_once_are_chunks() -> None:
    both = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = whole(both + b"6\r\nhello!\r\n0\r\n\r\n")
    assert answer is not None
    assert answer.content == b"hello!"


@pytest.mark.parametrize("status", [204, 304])
def test_some_statuses_never_have_a_body(status: int) -> None:
    for framing in (b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b""):
        reader = AnswerReader()
        answer = reader.feed(b"HTTP/1.1 %d X\r\n%s\r\n" % (status, framing))
        assert answer is not None
        assert (answer.status_code, answer.content) == (status, b"")
        assert not reader.begun


def test_bytes_after_a_204_end_the_connection() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello") is not None
    assert reader.begun  # the connection cannot be reused


def test_head_has_no_body() -> None:
    reader = AnswerReader()
    reader.no_body = True
    answer = reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    assert answer is not None
    assert (answer.content, reader.begun) == (b"", False)


def test_the_end_of_the_connection_ends_a_body_without_a_length() -> None:
    reader = AnswerReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhel") is None
    assert reader.feed(b"lo") is None
    answer = reader.end()
    assert answer is not None
    assert (answer.content, answer.keep) == (b"hello", False)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
    ],
)
def test_a_cut_answer_is_none(data: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(data) is None
    assert reader.end() is None
    assert reader.begun == bool(data)


def test_interim_answers_are_skipped() -> None:
    answer = whole(b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + b"HTTP/1.1 204 No Content\r\n\r\n")
    assert answer is not None
    assert answer.status_code == 204


@pytest.mark.parametrize(
    ("line", "keep"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n", False),
        (b"HTTP/1.1 200 OK\r\nConnection: x, close\r\n", False),
    ],
)
def test_headers_that_keep_the_connection_open(line: bytes, keep: bool) -> None:
    answer = whole(line + b"Content-Length: 0\r\n\r\n")
    assert answer is not None
    assert answer.keep is keep


# --- hostile


@pytest.mark.parametrize(
    "data",
    [
        b"HELLO\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 099 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * (INTERIM + 1),
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        CHUNKED + b"-5\r\nhello\r\n",
        CHUNKED + b"5\r\nhelloX\r\n",
        CHUNKED + b"0x5\r\nhello\r\n",
        CHUNKED + b"fffffffffffffffff\r\n",
        CHUNKED + b"1" * 5000,
        CHUNKED + b"0\r\n" + b"a: b\r\n" * 20_000,
        CHUNKED + b"0\r\nno field\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * HEAD,
    ],
)
def test_input_that_is_no_http_is_refused(data: bytes) -> None:
    assert refused(data)


def test_bodies_are_limited_with_any_framing() -> None:
    for data in (
        b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
        CHUNKED + b"65\r\n" + b"x" * 101,
        CHUNKED + b"60\r\n" + b"x" * 96 + b"\r\n60\r\n" + b"x" * 96,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 101,
    ):
        assert "more than 100 bytes" in refused(data, most=100)


# --- against h11

TOKEN = st.text("abcXYZ-", min_size=1, max_size=8)
HEADERS = st.lists(st.tuples(TOKEN, st.text("abc ,;=\t", max_size=12)), max_size=4)


def answers() -> st.SearchStrategy[tuple[bytes, bytes]]:
    return st.builds(
        _made,
        st.sampled_from([200, 201, 204, 206, 304, 400, 404, 503]),
        HEADERS,
        st.binary(max_size=300),
        st.sampled_from(["length", "chunked", "both", "close"]),
        st.sampled_from([b"\r\n", b"\n"]),
        st.integers(1, 50),
    )


def _made(
    status: int, headers: list[tuple[str, str]], body: bytes, framing: str, end: bytes, size: int
) -> tuple[bytes, bytes]:
    lines = [b"HTTP/1.1 %d Whatever" % status]
    lines += [f"{name}: {value}".encode() for name, value in headers]
    if status in (204, 304):
        body = b""
    if framing in ("length", "both"):
        lines.append(b"Content-Length: %d" % len(body))
    if framing in ("chunked", "both"):
        lines.append(b"Transfer-Encoding: chunked")
    if framing == "close":
        lines.append(b"Connection: close")
    sent = body
    if framing in ("chunked", "both") and status not in (204, 304):
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        sent = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    return end.join(lines) + end + end + sent, body


def by_h11(data: bytes) -> tuple[int, bytes] | None:
    """Return status and body as h11 parses them; None if it refuses."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    status, body = 0, b""
    try:
        connection.receive_data(data)
        connection.receive_data(b"")
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return status, body
            elif event is h11.NEED_DATA or isinstance(event, h11.ConnectionClosed):
                return None
    except h11.RemoteProtocolError:
        return None


@given(answers(), st.lists(st.integers(1, 40), max_size=20))
def test_answers_are_parsed_in_any_pieces(made: tuple[bytes, bytes], sizes: list[int]) -> None:
    data, body = made
    answer = pieces(data, sizes)
    assert answer is not None
    assert answer.content == body
    assert by_h11(data) in (None, (answer.status_code, body))


@given(answers(), st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), min_size=1, max_size=3))
def test_answers_that_h11_accepts_are_parsed_alike(
    made: tuple[bytes, bytes], edits: list[tuple[int, bytes]]
) -> None:
    data = made[0]
    for at, put in edits:
        data = data[:at] + put + data[at + 1 :]
    theirs = by_h11(data)
    try:
        ours = pieces(data, [7])
        fast = pieces(data, [])
    except MalformedError:
        return  # our parser may be stricter, and is never looser when it keeps the connection
    if theirs is not None:
        assert ours is not None
        assert (ours.status_code, ours.content) == theirs
    assert (ours is None) == (fast is None)
    if ours is not None and fast is not None:
        assert (fast.status_code, fast.content) == (ours.status_code, ours.content)


# --- repeated answers


def test_a_repeated_answer_is_recognized_and_others_are_parsed() -> None:
    reader = AnswerReader()
    for text in (b"one", b"one", b"two", b"one"):
        reader.no_body = False
        answer = reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + text)
        assert answer is not None
        assert answer.content == text
        assert not reader.begun


def test_a_repeated_answer_to_head_has_no_body() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
    reader = AnswerReader()
    reader.no_body = False
    assert reader.feed(head + b"one") is not None
    reader.no_body = True
    answer = reader.feed(head + b"one")
    assert answer is not None
    assert answer.content == b""
    assert reader.begun  # an unexpected body


def test_an_answer_with_further_bytes_is_not_cached() -> None:
    data = b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"
    reader = AnswerReader()
    reader.no_body = False
    assert reader.feed(data + b"more") is not None
    assert reader.begun
    other = AnswerReader(repeated=reader._repeated)
    other.no_body = False
    assert other.feed(data + b"more") is not None
    assert other.begun


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 204 No Content\r\nServer: bare\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ],
)
def test_a_short_answer_is_recognized_with_any_framing(head: bytes) -> None:
    reader = AnswerReader()
    reader.no_body = False
    first = reader.feed(head)
    assert first is not None
    reader.no_body = False
    assert reader.feed(head) is first


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.0 204 No Content\r\n\r\n",
    ],
)
def test_the_last_answer_of_a_connection_is_not_cached(data: bytes) -> None:
    repeated = RepeatedAnswer()
    for _ in range(2):
        reader = AnswerReader(repeated=repeated)
        reader.no_body = False
        answer = reader.feed(data)
        assert answer is not None
        assert not answer.keep
    assert repeated.answer is None


def test_an_answer_after_an_interim_one_leaves_no_state() -> None:
    reader = AnswerReader()
    reader.no_body = False
    assert reader.feed(b"HTTP/1.1 100 Continue\r\n\r\n") is None
    assert reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") is not None
    assert not reader.begun
