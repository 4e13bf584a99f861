"""Formats of texts, and limits of the size of data."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import INTERFACE, OwnSolution, accepted
from labkit.conformance.target import Target

LABEL = "a" * 63
FORMATS: dict[
    str, tuple[tuple[str, ...], tuple[str, ...]]
] = {  # texts that have the format, and texts that do not
    "date": (
        ("2024-02-29", "0001-01-01", "9999-12-31"),
        ("2023-02-29", "2024-2-9", "20240209", "2024-13-01", "2024-W01-1", "2024-02-29 ", "٢٠٢٤-02-29", ""),
    ),
    "time": (
        ("12:00:00Z", "23:59:59.123456789012z", "00:00:00+23:59", "23:59:60Z", "12:00:00.5-00:30"),
        (
            "25:00:00Z",
            "12:60:00Z",
            "12:00:61Z",
            "12:00:00",
            "12:00Z",
            "12:00:00.Z",
            "12:00:00+2",
            "T12:00:00Z",
            "",
        ),
    ),
    "date-time": (
        ("2024-02-29T12:00:00+02:00", "2024-02-29t12:00:00z", "2024-02-29 12:00:00.25Z"),
        (
            "2024-02-29",
            "2024-02-29T",
            "2024-02-29Tnoon",
            "2024-02-30T12:00:00Z",
            "2024-02-29T24:00:01Z",
            "2024-02-29T12:00:00",
            "2024-02-29_12:00:00Z",
            "2024-02-29T12:00:00Zx",
            "12:00:00Z",
        ),
    ),
    "email": (
        ("ann@example.com", "a.b+c@example.com", "ann@müller.example"),
        ("ann", "ann@", "@example.com", "ann@@example.com", "Ann <ann@example.com>", "a b@example.com", ""),
    ),
    "hostname": (
        ("a.example", "localhost", "a-1.b", "1.2", LABEL, ".".join([LABEL] * 3 + ["a" * 61])),
        (
            "-a.example",
            "a-.example",
            "a..b",
            ".a",
            "a.",
            "a_b",
            "a b",
            "é.example",
            f"{LABEL}a",
            ".".join([LABEL] * 4),
            "",
        ),
    ),
    "ipv4": (
        ("127.0.0.1", "0.0.0.0", "255.255.255.255"),
        ("127.0.0", "256.0.0.1", "127.0.0.1.1", "127.0.0.01", "127.0.0.1/8", "::1", ""),
    ),
    "ipv6": (
        ("::1", "::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "FE80::1"),
        (":::1", "1:2:3:4:5:6:7", "fe80::1%eth0", "12345::", "127.0.0.1", "::1/64", ""),
    ),
    "uri": (
        ("https://example.com/?a#b", "urn:a:b", "a+b-c.1:", "mailto:a@b", "x:%C3%a9"),
        ("/a b", "a", "1a:b", "a:b c", "a:é", "a:%C", "a:%zz", ":a", "a:<", "a:\\", ""),
    ),
    "uuid": (
        ("2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"),
        (
            "2eb8aa08",
            "2eb8aa08aa9811eab4aa73b441d16380",
            "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}",
            "2eb8aa08-aa98-11ea-b4aa-73b441d1638g",
            "2eb8aa08-aa98-11ea-b4aa73b4-41d16380",
            "",
        ),
    ),
}
DEEPEST, MOST_VALUES, MOST_CHARACTERS = 32, 10_000, 131_072


@check(
    "IFC-SCH-12", "formats accept texts that have them, and refuse texts that almost do", needs={"settings"}
)
async def formats(target: Target) -> None:
    events = [{"name": name.replace("-", ""), "parameters": {"format": name}} for name in FORMATS]
    publisher = await accepted(target, {"events": events})
    for name, (good, wrong) in FORMATS.items():
        for data in (*good, 5, None, ["x"]):
            await _sent(publisher, name.replace("-", ""), data, None)
        for text in wrong:
            await _sent(publisher, name.replace("-", ""), text, 400)


@check("IFC-SCH-13", "data to its bounds: levels, values, characters", needs={"settings"})
async def bounds(target: Target) -> None:
    publisher = await accepted(target, {"events": [{"name": "sent"}]})
    deepest: list[Any] = [1, 1, 1]  # of lists, of tables, and of both alternating
    for level in range(DEEPEST):
        deepest = [[deepest[0]], {"a": deepest[1]}, [deepest[2]] if level % 2 else {"é": deepest[2]}]
    for data in (
        *deepest,
        [1] * (MOST_VALUES - 1),
        {str(number): 1 for number in range(MOST_VALUES - 1)},
        [[1] * 4999, {str(number): None for number in range(4998)}],
        "é" * MOST_CHARACTERS,
        {"n" * (MOST_CHARACTERS - 5): "value"},
        [2**1023, -(2**1024 - 1)],
    ):
        await _sent(publisher, "sent", data, None)
    several = {str(number): 1 for number in range(MOST_VALUES)}
    for data in (
        *([each] for each in deepest),
        *({"a": each} for each in deepest),
        [1] * MOST_VALUES,
        several,
    ):
        await _sent(publisher, "sent", data, 400)
    for data in (
        "é" * (MOST_CHARACTERS + 1),
        {"n" * (MOST_CHARACTERS - 5): "values"},
        [2**1024],
        {"a": -(2**1024)},
    ):
        await _sent(publisher, "sent", data, 400)


async def _sent(publisher: OwnSolution, event: str, data: Any, status: int | None) -> None:
    found = await publisher.status(INTERFACE, "trigger", event=event, mode="sync", data=data)
    expect.equal(f"status of {str(data)[:50]!r} with {event}", found, status)
