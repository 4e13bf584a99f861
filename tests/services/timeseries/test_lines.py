"""Timeseries: points in the line protocol."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.core.errors import ServiceError
from labkit.services.series.store import FALSE, TRUE, SeriesPoint
from labkit.services.timeseries.lines import parse_lines

NOW = 1_767_225_600_000_000


def parsed(text: str, per_unit: float = 0.001) -> list[SeriesPoint]:
    return parse_lines(text, NOW, per_unit)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("-2.5e3", -2500.0),
        (".5", 0.5),
        ("7i", 7),
        ("-7i", -7),
        ("7u", 7),
        ("t", TRUE),
        ("False", FALSE),
        ('"on"', "on"),
        ('""', ""),
        (r'"a \"b\" \\ \n"', r'a "b" \ \n'),
        ('"a,b=c d"', "a,b=c d"),
        ('"two\nlines"', "two\nlines"),
    ],
)
def test_values(text: str, value: Any) -> None:
    [point] = parsed(f"m v={text}")
    assert (type(point.value), point.value) == (type(value), value)
    assert point == ("m", "{}", NOW, value, "v")


def test_names_tags_and_times() -> None:
    assert parsed('a\\ b\\,c,t\\=1=x\\ y,s=é v=1,w="2" 1480000000123456789') == [
        ("a b,c", '{"s":"é","t=1":"x y"}', 1_480_000_000_123_456, 1.0, "v"),
        ("a b,c", '{"s":"é","t=1":"x y"}', 1_480_000_000_123_456, "2", "w"),
    ]
    assert parsed("m v=1 1480000000", 1_000_000)[0].time == 1_480_000_000_000_000
    assert parsed("m v=1 1480000000123", 1000)[0].time == 1_480_000_000_123_000
    assert parsed("\\a v=1")[0].name == "\\a"


def test_lines_are_separated_and_comments_skipped() -> None:
    text = "# first\n\n  \nm v=1\r\nm v=2 5000\n# last"
    assert [(point.value, point.time) for point in parsed(text)] == [(1.0, NOW), (2.0, 5)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("m", "line 1 of query, 'm': expected a tag"),
        ("m v=1\nm", "line 2 of query, 'm': expected a tag"),
        ("m ", "expected a field"),
        ("m v", "expected a field"),
        ("m v=", "expected a field"),
        ("m v=on", "expected a number, a boolean, or a text in quotes"),
        ('m v="on', "expected a field"),
        ("m v=1,", "expected a field"),
        ("m v=1 x", "expected a time"),
        ("m v=1 1 1", "expected a time"),
        ("m v=1 -5000", "expected a time between"),
        ("m,t v=1", "expected a tag"),
        ("m,t= v=1", "expected a tag"),
        (",t=x v=1", "expected the name of a measurement"),
        ("m v=99999999999999999999i", "expected a number"),
        ("m v=9223372036854775808i", "expected a finite number"),
        ("m v=1e999", "expected a finite number"),
        (f"{'m' * 201} v=1", "expected a name"),
        ("a\x07b v=1", "expected a name"),
        (f'm v="{"x" * 65_537}"', "expected a finite number"),
        ("m," + ",".join(f"t{number}=x" for number in range(21)) + " v=1", "expected at most 20 tags"),
        ("# nothing", "expected at least one line"),
        ("m v=1 " + "9" * 5000, "expected a time"),
    ],
)
def test_another_form_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ServiceError, match=reason) as caught:
        parsed(text)
    assert caught.value.status == 400
    assert len(str(caught.value)) < 300


def test_many_values_are_refused() -> None:
    assert len(parsed("m v=1,w=2\n" * 5000)) == 10_000
    with pytest.raises(ServiceError, match="at most 10000 values"):
        parsed("m v=1,w=2\n" * 5001)
