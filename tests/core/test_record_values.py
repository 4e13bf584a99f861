"""Values of records on the page of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from labkit.core.canonical import CanonicalRecord
from labkit.core.record_values import LONGEST_VALUE, MOST, has_lengths, record_values
from labkit.core.redaction import HIDDEN


def values_of(
    kind: str, detail: Mapping[str, Any] | None, summary: str = "x", size: int | None = None
) -> str:
    record = CanonicalRecord("app#1", "", 0, kind, "app", summary, 200, size, detail)
    return record_values(record, 240)


def call(**parameters: Any) -> str:
    return values_of("call", {"parameters": parameters})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (call(key="a b", value="<12 characters>"), 'key "a b", value (12 characters)'),
        (call(key="", value="<1 character>"), 'key "", value (1 character)'),
        (call(pairs={"a/1": "<2 characters>", "ß": 1}), 'pairs {a/1 (2 characters), "ß" 1}'),
        (call(args=["<1 character>", True, None, 1.5]), "args [(1 character), true, null, 1.5]"),
        (
            call(password="x", accessToken="y", keys=["a"]),
            f'password {HIDDEN}, accessToken {HIDDEN}, keys ["a"]',
        ),
        (call(data={"pin": 1234, "n": {}}), f"data {{pin {HIDDEN}, n {{}}}}"),
        (call(text="a" * 40), f'text "{HIDDEN}"'),
        (call(text="\x1b[1m\u2028"), 'text "\\u001b[1m "'),
        (call(), ""),
        (values_of("call", {}), ""),
        (values_of("call", None), ""),
        (values_of("event", {"alias": "t", "value": [1, "20.5"], "pid": "p"}, "datapoint"), 't "20.5"'),
        (values_of("event", {"alias": "secret", "value": [1, "x"]}, "datapoint"), f"secret {HIDDEN}"),
        (
            values_of("event", {"payload": [{"values": {"a": "1"}}, {"values": {"b": "2"}}, 3]}, "data_in"),
            'a "1", b "2"',
        ),
        (values_of("event", {"to": "other", "data": {"n": 1}}, "changed"), "n 1"),
        (values_of("event", {"identity": "d", "type": "provisioned"}, "provisioned"), ""),
        (values_of("request", None, size=1), "answer of 1 byte"),
        (values_of("request", {"body": "a=1"}, size=3), 'answer "a=1"'),
        (values_of("request", None, size=0), ""),
        (values_of("request", None), ""),
        (values_of("script", {"cpu": 1}), ""),
    ],
)
def test_values(text: str, shown: str) -> None:
    assert text == shown


def test_long_values_are_cut() -> None:
    assert call(text="é" * (LONGEST_VALUE + 1)) == f'text "{"é" * LONGEST_VALUE}…"'
    assert call(**{f"n{number}": number for number in range(MOST + 1)}).endswith(f"n{MOST - 1} {MOST - 1}, …")
    assert call(list=[0] * (MOST + 1)) == f"list [{'0, ' * MOST}…]"
    assert len(call(**{f"name {number}": "x" * 50 for number in range(9)})) == 241


def test_lengths() -> None:
    assert has_lengths(call(value="<1 character>"))
    assert has_lengths(values_of("request", None, size=7))
    assert not has_lengths(call(key="(1 char)"))
