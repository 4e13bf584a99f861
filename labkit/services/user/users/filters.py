"""The filters of listUsers (document 2, Users): `field::operator::value`, compiled to a condition of the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field
from sqlalchemy import Column, ColumnElement, Connection, Integer, String, case, cast, false, func, select

from labkit.core.errors import ServiceError
from labkit.services.addresses import address
from labkit.services.arguments import as_list, is_unicode, none_to_empty
from labkit.services.user.accounts import UserIdentity, user_table

LARGEST = 2**63 - 1  # largest integer of the database
LONGEST = 20_000  # characters of all filters of a call; SQLite accepts some 30,000 values in a query
LONGEST_QUICK = (
    400  # characters that are parsed on the event loop; parsing an address takes up to a millisecond
)
LONGEST_PATTERN = 1000  # characters of a `like` value; names and addresses are shorter

COLUMNS = user_table.c
COMPARED: Mapping[str, Column[int] | Column[str]] = {
    "id": COLUMNS.id,
    "email": COLUMNS.folded,
    "name": COLUMNS.name,
    "status": COLUMNS.status,
    "creation_date": COLUMNS.creation_date,
}
SEARCHED = {**COMPARED, "name": COLUMNS.folded_name}
COMPARISONS: Mapping[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "eq": eq,
    "ne": ne,
    "gt": gt,
    "ge": ge,
    "lt": lt,
    "le": le,
}
OPERATORS = ("like", *COMPARISONS, "in")


def _bounded(filters: Sequence[str]) -> Sequence[str]:
    if sum(map(len, filters)) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters in all")
    return filters


Filter = Annotated[str, Field(max_length=10_000)]
Filters = Annotated[
    Sequence[Filter],
    BeforeValidator(as_list),
    BeforeValidator(none_to_empty),
    Field(max_length=100),
    AfterValidator(_bounded),
]


def folded(text: str) -> str:
    """Return an address in the form in which users are looked up; another text becomes one that matches no user."""
    try:
        return address(text).casefold()
    except ValueError:
        return text.casefold() if is_unicode(text) else ""


class Condition(NamedTuple):
    """Filter as SQL. holds: selects the matching users; exact: selects the users to list first, None without any."""

    holds: ColumnElement[bool]
    exact: ColumnElement[bool] | None = None


def matching_users(
    connection: Connection, solution: str, conditions: Sequence[Condition], offset: int, limit: int
) -> list[UserIdentity]:
    """Return the users for whom all conditions hold: exact matches of a `like` first, then by id."""
    first = [case((each.exact, 0), else_=1) for each in conditions if each.exact is not None]
    rows = connection.execute(
        select(*(COLUMNS[name] for name in UserIdentity._fields))
        .where(COLUMNS.solution == solution, *(each.holds for each in conditions))
        .order_by(*first, COLUMNS.id)
        .offset(offset)
        .limit(limit)
    )
    return [UserIdentity(*row) for row in rows]


def count_users(connection: Connection, solution: str, conditions: Sequence[Condition]) -> int:
    """Return the number of users for whom all conditions hold."""
    held = (each.holds for each in conditions)
    counted = select(func.count()).select_from(user_table).where(COLUMNS.solution == solution, *held)
    return int(connection.execute(counted).scalar_one())


async def conditions(given: Sequence[str]) -> list[Condition]:
    """Return the conditions of a list of filters. Raises ServiceError 400 if one is malformed."""
    if sum(map(len, given)) > LONGEST_QUICK:
        return await asyncio.to_thread(_conditions, given)
    return _conditions(given)


def _conditions(given: Sequence[str]) -> list[Condition]:
    return [condition(each) for each in given]


def condition(filter: str) -> Condition:
    """Return the condition of a filter. Raises ServiceError 400 if it is malformed."""
    field, _, rest = filter.partition("::")
    operator, separator, value = rest.partition("::")
    if not separator:
        raise _bad(f"expected field::operator::value, not {filter[:100]!r}")
    if field not in COMPARED:
        raise _bad(f"{field[:100]!r} is no field of a user, expected one of: {', '.join(COMPARED)}")
    if operator not in OPERATORS:
        raise _bad(f"{operator[:100]!r} is no operator, expected one of: {', '.join(OPERATORS)}")
    if operator == "like":
        return _like(field, value)
    column = COMPARED[field]
    if operator == "in":
        return Condition(column.in_([_value(field, each.strip()) for each in value.split(",")]))
    return Condition(COMPARISONS[operator](column, _value(field, value)))


def _like(field: str, value: str) -> Condition:
    """Return the condition of a `like`, without letter case; without `%` the value may be any part of the field."""
    if len(value) > LONGEST_PATTERN:
        raise _bad(f"a like takes at most {LONGEST_PATTERN} characters")
    if "\0" in value:  # no field contains it, and SQLite would end the pattern there
        return Condition(false())
    column, part = cast(SEARCHED[field], String), value.casefold()
    exact = column == (folded(value) if field == "email" else part)
    return Condition(column.like(part if "%" in part else f"%{part}%") | exact, exact)


def _value(field: str, text: str) -> int | str:
    """Return a value in the form in which its field is compared. Raises ServiceError 400 for an invalid number."""
    if not isinstance(COMPARED[field].type, Integer):
        return folded(text) if field == "email" else text
    try:
        number = int(text)
    except ValueError:
        raise _bad(f"{field} is a whole number, not {text[:100]!r}") from None
    if abs(number) > LARGEST:
        raise _bad(f"{field} is at most {LARGEST}, not {text[:100]}")
    return number


def _bad(reason: str) -> ServiceError:
    return ServiceError(400, f"Parameter filter validation failed: {reason}.")
