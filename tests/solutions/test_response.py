"""Conversion of a handler's outcome to an HTTP response."""

from typing import Any

import pytest

from labkit.solutions.web.response import ReplyError, encode

TEXT, JSON = "text/plain; charset=utf-8", "application/json"


def test_a_table_that_contains_itself_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ReplyError):
        encode(endless)
