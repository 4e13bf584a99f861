"""The arguments of role and permission operations and their name rules (document 2, Name rules)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from labkit.services.arguments import Whole, as_list, none_to_empty
from labkit.services.user.accounts import Id

RESERVED = frozenset(
    "me user users permission permissions role roles parameter parameters group groups member members".split()
)
LARGEST_PAGE = 100
WILDCARD = "*"  # stored form of {type: 'wildcard'}; no other value has this form

ROLE_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
PARAMETER_NAME = re.compile(r"[A-Za-z]{1,40}")
VALUE = re.compile(r"[A-Za-z0-9]{1,100}")
METHOD = re.compile(r"[A-Z]{1,10}")
END_POINT = re.compile(r"[A-Za-z0-9/_{}-]{1,150}")
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
KNOWN = 1024  # permissions whose text is parsed once: solutions ask for the same few with every request


def fold(name: str) -> str:
    """Return a role_id or parameter name in lower case, for comparison."""
    return name.lower()


def _role_id(value: object) -> str:
    return unreserved(matching(value, ROLE_ID, "1 to 80 characters of A-Z a-z 0-9 - _"))


def _parameter_name(value: object) -> str:
    return unreserved(matching(value, PARAMETER_NAME, "1 to 40 letters A-Z a-z"))


def _parameter_value(value: object) -> str:
    """Return a value as text: whole numbers as their digits, the wildcard as WILDCARD."""
    if isinstance(value, Mapping):
        if value != {"type": "wildcard"}:
            raise ValueError("expected {type: 'wildcard'} where the value is an object")
        return WILDCARD
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**100 else ""
    return matching(value, VALUE, "1 to 100 characters of A-Z a-z 0-9, or {type: 'wildcard'}")


def _method(value: object) -> str:
    return matching(value, METHOD, "1 to 10 characters of A-Z")


def _end_point(value: object) -> str:
    return matching(value, END_POINT, "1 to 150 characters of A-Z a-z 0-9 - / _ { }")


def matching(value: object, pattern: re.Pattern[str], expected: str) -> str:
    """Return a text that a pattern matches completely. Raises ValueError, saying what was `expected`, otherwise."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"expected {expected}")
    return value


def unreserved(name: str) -> str:
    """Return a name. Raises ValueError if it is a reserved word."""
    if fold(name) in RESERVED:
        raise ValueError(f"{name} is a reserved word")
    return name


RoleId = Annotated[str, PlainValidator(_role_id)]
ParameterName = Annotated[str, PlainValidator(_parameter_name)]
ParameterValue = Annotated[str, PlainValidator(_parameter_value, json_schema_input_type=str | dict[str, str])]
Method = Annotated[str, PlainValidator(_method)]
EndPoint = Annotated[str, PlainValidator(_end_point)]


class RoleParameter(BaseModel):
    """Parameter of a role."""

    name: ParameterName


class AssignedValue(BaseModel):
    """Value of a role's parameter, assigned to a user."""

    name: ParameterName
    value: ParameterValue


class AssignedRole(BaseModel):
    """Role assigned to a user, with values of its parameters."""

    role_id: RoleId
    parameters: Annotated[Sequence[AssignedValue], BeforeValidator(as_list)] = ()


@dataclass(frozen=True, slots=True)
class Permission:
    """Permission to use a method and a path; {name} in the path is a placeholder for a role's parameter."""

    method: Method
    end_point: EndPoint

    def __str__(self) -> str:
        return f"{self.method}/{self.end_point}"  # the perm_id

    @property
    def placeholders(self) -> list[str]:
        """Distinct names of the placeholders, in lower case; with an empty name if a brace is unpaired."""
        return _placeholders(self.end_point)


@lru_cache(maxsize=KNOWN)
def _placeholders(end_point: str) -> list[str]:
    names = PLACEHOLDER.findall(end_point)
    if set("{}") & set(PLACEHOLDER.sub("", end_point)):
        names.append("")
    return list(dict.fromkeys(map(fold, names)))


@lru_cache(maxsize=KNOWN)
def _permission(text: str) -> Permission:
    method, _, end_point = text.partition("/")
    return Permission(_method(method), _end_point(end_point))


def _perm_id(value: object) -> Permission:
    """Return the permission with this perm_id, {method}/{end_point}; the first slash separates the two."""
    if not isinstance(value, str) or "/" not in value:
        raise ValueError("expected {method}/{end_point}")
    return _permission(value)


def _pairs(value: object) -> dict[str, str | None]:
    """Return name::value strings as values by lower-case name; None for an invalid or ambiguous value.

    A value is invalid if no user can have it, ambiguous if its name occurs with two values.
    """
    texts = as_list(value)
    if not isinstance(texts, Sequence):
        raise ValueError("expected a list of name::value")
    pairs: dict[str, str | None] = {}
    for text in texts:
        name, separator, given = text.partition("::") if isinstance(text, str) else ("", "", "")
        if not separator:
            raise ValueError("expected name::value")
        if not PARAMETER_NAME.fullmatch(name):
            continue  # no placeholder has such a name
        valid = given if VALUE.fullmatch(given) else None
        if pairs.setdefault(fold(name), valid) != valid:
            pairs[fold(name)] = None
    return pairs


def _none_if_invalid(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    try:
        return validate(value)
    except ValueError:
        return None


PermId = Annotated[Permission, PlainValidator(_perm_id, json_schema_input_type=str)]
Pairs = Annotated[Mapping[str, str | None], PlainValidator(_pairs, json_schema_input_type=list[str])]
# Arguments of permission checks. Scripts pass values of a request, so a malformed one is None, which leads to 403.
OptionalId = Annotated[Id | None, WrapValidator(_none_if_invalid)]
OptionalPermission = Annotated[PermId | None, WrapValidator(_none_if_invalid)]
NO_PAIRS: Mapping[str, str | None] = {}
OptionalPairs = Annotated[Pairs | None, WrapValidator(_none_if_invalid), BeforeValidator(none_to_empty)]
Parameters = Annotated[Sequence[RoleParameter], BeforeValidator(as_list)]
PermissionList = Annotated[Sequence[Permission], BeforeValidator(as_list)]
AssignedRoles = Annotated[Sequence[AssignedRole], BeforeValidator(as_list)]
Limit = Annotated[Whole, Field(ge=1, le=LARGEST_PAGE)]
