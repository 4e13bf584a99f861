"""Parser of InfluxQL: the grammar beside this file, and the checks that follow it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput, VisitError

from labkit.core.errors import ServiceError
from labkit.services.series.arguments import checked_name
from labkit.services.series.times import SECOND, parse_date
from labkit.services.timeseries.arithmetic import Written, read_columns
from labkit.services.timeseries.columns import check_columns
from labkit.services.timeseries.statements import (
    AllOf,
    AnyOf,
    Drop,
    Moment,
    Select,
    Show,
    Statement,
    WhereComparison,
    refuse,
)

LONGEST = 8192  # characters of a query
DEEPEST = 50  # brackets within brackets
MOST_STATEMENTS = 10
LARGEST_LIMIT = 10_000
LARGEST_OFFSET = 100_000
NANOS = {"ns": 1, "u": 1000, "us": 1000, "µ": 1000, "ms": 10**6, "s": 10**9}
NANOS |= {"m": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9, "w": 7 * 86_400 * 10**9}
LARGEST = 2**63  # nanoseconds
CLAUSES = ("INTO", "TZ", "HAVING", "ON")
STATEMENTS = ("CREATE", "ALTER", "GRANT", "REVOKE", "KILL", "SET", "EXPLAIN", "DELETE")

_WORD = re.compile(r"\w+|\S")
_PART = re.compile(r"([0-9]+)(ns|us|u|µ|ms|s|m|h|d|w)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@lru_cache(maxsize=256)
def parse(text: str) -> tuple[Statement, ...]:
    """Return the statements of a query. Raises ServiceError 400, naming what is not understood."""
    if len(text) > LONGEST:
        raise refuse(f"expected at most {LONGEST} characters, not {len(text)}")
    if text.count("(") > DEEPEST:
        raise refuse(f"expected at most {DEEPEST} brackets")
    try:
        found: tuple[Statement, ...] = _parser().parse(text)  # type: ignore[assignment]
    except UnexpectedInput as error:
        raise refuse(_unexpected(text, error)) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ServiceError):
            raise error.orig_exc from None
        raise
    if len(found) > MOST_STATEMENTS:
        raise refuse(f"expected at most {MOST_STATEMENTS} statements, not {len(found)}")
    return found


@cache
def _parser() -> Lark:
    grammar = (resources.files(__package__) / "influxql.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_Statements())


def _unexpected(text: str, error: UnexpectedInput) -> str:
    """Return what a text has at a place where the grammar expects something else."""
    at: int | None = error.pos_in_stream
    if at is None or at >= len(text) or getattr(getattr(error, "token", None), "type", "") == "$END":
        return "the query ends too early"
    if text.startswith("::", at):
        return f"a type after :: is not supported at character {at + 1}"
    match = _WORD.search(text, at)
    word = match[0] if match else ""
    if word.upper() in CLAUSES:
        return f"the clause {word.upper()} is not supported at character {at + 1}"
    if word.upper() in STATEMENTS:
        return f"the statement {word.upper()} is not supported"
    return f"unexpected {word[:40]!r} at character {at + 1}"


def _nanos(text: str) -> int:
    """Return the nanoseconds of a duration such as "1h30m". Raises ServiceError 400 for one that is too long."""
    total = sum(int(number[:19]) * NANOS[unit] for number, unit in _PART.findall(text))
    if total >= LARGEST:
        raise refuse(f"the duration {text[:40]} is too long")
    return -total if text.startswith("-") else total


def _number(text: str) -> float | int:
    if len(text) > 30:
        raise refuse("expected a number of at most 30 characters")
    return float(text) if "." in text else int(text)


@v_args(inline=True)
class _Statements(Transformer[Token, tuple[Statement, ...]]):
    """Builder of statements, from the innermost parts of a query on."""

    def start(self, *statements: Statement) -> tuple[Statement, ...]:
        return statements

    # ---- values

    def name(self, token: Token) -> str:
        text = _ESCAPED.sub(r"\1", token[1:-1]) if token.type == "QUOTED" else str(token)
        try:
            return checked_name(text)
        except ValueError as error:
            raise refuse(f"{text[:40]!r}: {error}") from None

    def text(self, token: Token) -> Any:
        return "text", _ESCAPED.sub(r"\1", token[1:-1])

    def number(self, token: Token) -> Any:
        return "number", _number(token)

    def duration(self, token: Token) -> Any:
        return "duration", _nanos(token)

    def now(self) -> Any:
        return "now", 0

    def star(self) -> str:
        return "*"

    # ---- conditions

    def time_sum(self, first: Any, *rest: Any) -> Any:
        kind, value = first
        offset = _absolute(kind, value)
        for sign, (_, size) in zip(rest[::2], rest[1::2], strict=True):
            offset += -size if sign == "-" else size
        return "moment", Moment(offset, kind == "now")

    def compare(self, name: str, operator: Token, operand: Any) -> WhereComparison:
        kind, value = operand
        operator_ = "!=" if operator == "<>" else str(operator)
        if name.lower() == "time":
            moment = value if kind == "moment" else Moment(_absolute(kind, value))
            if operator_ == "!=":
                raise refuse("time is compared with =, <, <=, > or >=, not with !=")
            return WhereComparison("time", operator_, moment)
        if kind != "text" or operator_ not in ("=", "!="):
            raise refuse(
                f"the condition on {name} compares the value of a field; expected a tag with a text, as {name} = 'x', "
                "or time"
            )
        return WhereComparison(name, operator_, value)

    def match(self, name: str, operator: Token, pattern: Token) -> WhereComparison:
        return WhereComparison(name, str(operator), pattern[1:-1].replace("\\/", "/"))

    def any_of(self, *parts: Any) -> AnyOf:
        return AnyOf(parts)

    def all_of(self, *parts: Any) -> AllOf:
        return AllOf(parts)

    def where(self, condition: Any) -> Any:
        return "where", condition

    # ---- clauses

    def call(self, name: Token, *arguments: Any) -> Any:
        return "call", name.lower(), [each for each in arguments if each is not None]

    def alias(self, name: str) -> Any:
        return "alias", name

    def distinct(self, name: str) -> Any:
        return "call", "distinct", [name]

    def computed(self, first: Any, *rest: Any) -> Any:
        for sign, other in zip(rest[::2], rest[1::2], strict=True):
            first = "computed", str(sign), first, other
        return first

    def field(self, column: Any, alias: Any = ("alias", "")) -> Written:
        return column, alias[1]

    def fields(self, *columns: Written) -> Any:
        return "columns", read_columns(columns)

    def source(self, *names: str) -> str:
        if len(names) > 3:
            raise refuse("expected a measurement, after at most a database and a retention policy")
        return names[-1]

    def subquery(self, select: Select) -> str:
        raise refuse("a subquery is not supported; expected the name of a measurement")

    def pattern(self, token: Token) -> str:
        raise refuse("a regular expression as a measurement is not supported; expected its name")

    def from_(self, *names: str) -> Any:
        return "sources", names

    def fill(self, token: Token) -> Any:
        text = token.lower()
        if token.type == "NUMBER":
            return "fill", _number(token)
        if text not in ("null", "none", "previous", "linear"):
            raise refuse(f"fill({text}) is not supported; expected null, none, previous, linear or a number")
        return "fill", text

    def group(self, *parts: Any) -> Any:
        return "group", parts

    def order(self, name: str, direction: Token | str = "asc") -> Any:
        if name.lower() != "time":
            raise refuse(f"ORDER BY {name} is not supported; expected time")
        return "descending", direction.lower() == "desc"

    def limit(self, token: Token) -> Any:
        return "limit", _count("LIMIT", token, 1, LARGEST_LIMIT)

    def offset(self, token: Token) -> Any:
        return "offset", _count("OFFSET", token, 0, LARGEST_OFFSET)

    def slimit(self, token: Token) -> Any:
        return "series_limit", _count("SLIMIT", token, 1, LARGEST_LIMIT)

    def soffset(self, token: Token) -> Any:
        return "series_offset", _count("SOFFSET", token, 0, LARGEST_OFFSET)

    # ---- statements

    def select(self, *clauses: Any) -> Select:
        given = dict(clauses)
        grouped = _group(given.pop("group", ()))
        columns, computed = given.pop("columns")
        check_columns(columns, sized="size" in grouped)
        return Select(columns, computed=computed, **given, **grouped)

    def show_measurements(self) -> Show:
        return Show("measurements")

    def show_tag_keys(self, sources: Any = ("sources", ())) -> Show:
        return Show("tag keys", sources[1])

    def show_field_keys(self, sources: Any = ("sources", ())) -> Show:
        return Show("field keys", sources[1])

    def show_tag_values(self, *given: Any) -> Show:
        return Show("tag values", given[0][1] if len(given) > 1 else (), given[-1])

    def drop_measurement(self, name: str) -> Drop:
        return Drop((name,))

    def drop_series(self, sources: Any, where: Any = ("where", None)) -> Drop:
        return Drop(sources[1], where[1])


setattr(_Statements, "from", _Statements.from_)  # the rule's name is a keyword of Python


def _count(clause: str, token: Token, least: int, most: int) -> int:
    """Return the number of a clause. Raises ServiceError 400."""
    number = _number(token)
    if not isinstance(number, int) or not least <= number <= most:
        raise refuse(f"{clause}: expected a whole number from {least} to {most}")
    return number


def _absolute(kind: str, value: Any) -> int:
    """Return the nanoseconds of a time that is not relative. Raises ServiceError 400."""
    if kind == "text":
        try:
            return parse_date(value) * (10**9 // SECOND)
        except ValueError as error:
            raise refuse(f"time {value[:40]!r}: {error}") from None
    if abs(value) >= LARGEST:
        raise refuse("a time is out of bounds")
    return int(value)


def _group(parts: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a Select that GROUP BY sets."""
    found: dict[str, Any] = {}
    by = []
    for part in parts:
        if isinstance(part, str):
            by.append(part)
        elif part[0] == "fill":
            found["fill"] = part[1]
        else:
            found |= _intervals(part[1], part[2])
    if by:
        found["by"] = tuple(dict.fromkeys(by))
    return found


def _intervals(function: str, arguments: Sequence[Any]) -> dict[str, int]:
    kinds = [each[0] if isinstance(each, tuple) else "name" for each in arguments]
    if function != "time" or kinds not in (["duration"], ["duration", "duration"]):
        raise refuse(f"GROUP BY {function} is not supported; expected time(1h), tags or *")
    size, *shift = (value // 1000 for _, value in arguments)
    if size < 1:
        raise refuse("GROUP BY time needs a duration of at least 1u")
    return {"size": size, "shift": shift[0] if shift else 0}
