"""Journal records of values that scripts store."""

from __future__ import annotations

from typing import Any

from tests.cases import cases
from tests.services.keystore.stores import opened


@cases(
    ("operation", "given", "shown"),
    [
        ("set", {"key": "k", "value": "s3cret"}, {"key": "k", "value": "<6 characters>"}),
        ("set", {"key": "k", "value": 1234}, {"key": "k", "value": "<4 characters>"}),
        (
            "mset",
            {"values": [{"key": "k", "value": "s3cret"}, {"key": "l", "value": None}]},
            {"values": [{"key": "k", "value": "<6 characters>"}, {"key": "l", "value": "<NoneType>"}]},
        ),
        ("mset", {"values": {"k": "s3cret"}}, {"values": {"k": "<6 characters>"}}),
        ("mset", {"values": ["s3cret"]}, {"values": ["<6 characters>"]}),
        ("mset", {"values": "s3cret"}, {"values": "<6 characters>"}),
        (
            "command",
            {"command": "hset", "key": "k", "args": ["field", "s3cret"]},
            {"command": "hset", "key": "k", "args": ["<5 characters>", "<6 characters>"]},
        ),
        (
            "command",
            {"command": "append", "key": "k", "args": "s3cret"},
            {"command": "append", "key": "k", "args": "<6 characters>"},
        ),
    ],
)
async def test_the_journal_has_lengths_of_values(operation: str, given: Any, shown: object) -> None:
    async with opened() as lab:
        await lab.call(operation, **given)
        [entry] = lab.journal
        detail: Any = entry.detail
        assert detail["parameters"] == shown
        assert "s3cret" not in lab.journal.canonical()
