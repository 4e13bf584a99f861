"""Formats of the identities of a product."""

from __future__ import annotations

from typing import Any

from labkit.devices.identities import identity_error
from labkit.settings import IdentityFormat
from tests.cases import cases

UUID = "01234567-89ab-CDEF-0123-456789abcdef"
FITS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["a", "x" * 256, "a,b:c.d e/f%", "ü", "机器"]),
    ({"type": "base10"}, ["0", "007", "9" * 256]),
    ({"type": "base16"}, ["0", "dead", "DEAD", "dEaD09"]),
    ({"type": "uuid"}, [UUID]),
    ({"type": "mac"}, ["00:11:22:aa:BB:cc", "00-11-22-AA-BB-CC", "001122aabbcc"]),
    ({"prefix": "id:"}, ["id:x", "id:id:"]),
    ({"type": "base10", "prefix": "A"}, ["A1"]),
    ({"casing": "upper"}, ["ABC-1", "1"]),
    ({"casing": "lower"}, ["abc-1", "1"]),
    ({"type": "base16", "casing": "upper"}, ["DEAD"]),
    ({"casing": "lower", "prefix": "ID"}, ["IDabc"]),
    ({"length": 3}, ["abc"]),
    ({"type": "base10", "prefix": "A", "length": 2}, ["A12"]),
]
BREAKS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["", "x" * 257, "a\n", "a\tb", "a\x00", "\x7f", "\udcff"]),
    ({"type": "base10"}, ["", "1a", "-1", "1 ", "٣", "1.5"]),
    ({"type": "base16"}, ["g", "0x1", " 1"]),
    ({"type": "uuid"}, [UUID.replace("-", ""), UUID + "0", "{" + UUID + "}", UUID.replace("f", "g")]),
    (
        {"type": "mac"},
        [
            "00:11:22:aa:bb",
            "00:11:22:aa:bb:cc:dd",
            "00:11:22-aa:bb:cc",
            "00 11 22 aa bb cc",
            "0:11:22:aa:bb:cc",
        ],
    ),
    ({"prefix": "id:"}, ["x", "ID:x", "i"]),
    ({"type": "base10", "prefix": "A"}, ["A", "Ax", "1"]),
    ({"casing": "upper"}, ["ABc", "ß"]),
    ({"casing": "lower"}, ["abC", "Ü"]),
    ({"length": 3}, ["ab", "abcd"]),
    ({"type": "base10", "prefix": "A", "length": 2}, ["A1", "A123"]),
]


@cases(
    ("settings", "identities"),
    FITS,
)
def test_a_valid_identity(settings: dict[str, Any], identities: list[str]) -> None:
    assert {
        identity: identity_error(IdentityFormat(**settings), identity) for identity in identities
    } == dict.fromkeys(identities)


@cases(
    ("settings", "identities"),
    BREAKS,
)
def test_an_invalid_identity(settings: dict[str, Any], identities: list[str]) -> None:
    for identity in identities:
        reason = identity_error(IdentityFormat(**settings), identity)
        assert reason is not None, identity
        assert reason.startswith("an identity ")
        assert len(reason) < 100
