"""What the headers of a long poll mean."""

import pytest

from labkit.device_api.exchange import Refusal
from labkit.device_api.long_poll import milliseconds, timestamp


@pytest.mark.parametrize(
    "text",
    [
        "784111777",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
)
def test_times_to_wait_from(text: str) -> None:
    assert timestamp(text) == 784111777  # the three forms of RFC 9110 5.6.7


@pytest.mark.parametrize(
    "text", ["", "soon", "-1", "1.5", "2026-01-01", "Sun, 46 Nov 1994 08:49:37 GMT", "9" * 13]
)
def test_no_times(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        timestamp(text)
    assert refused.value.status == 400


@pytest.mark.parametrize(("text", "expected"), [("0", 0), ("300000", 300_000), (" 15 ", 15)])
def test_milliseconds_to_wait(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "300001", "-1", "1.5", "1e3", "soon"])
def test_no_milliseconds(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        milliseconds(text)
    assert refused.value.status == 400
