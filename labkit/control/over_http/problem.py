"""Refusals of control requests as problem details (RFC 9457), with the texts of labkit's errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from labkit.core import errors
from labkit.core.errors import (
    FullError,
    LabError,
    LabkitError,
    ServiceError,
    StorageError,
    TakenError,
    UnknownError,
)
from labkit.settings.validation import key_text, listed, mistakes

PROBLEM_JSON = "application/problem+json"
STATUSES: Mapping[type[LabkitError], int] = {
    UnknownError: 404,
    TakenError: 409,
    FullError: 429,
}  # others are 400


class WrongArgument(BaseModel):
    """An argument that has a wrong value. where: its name, and keys and numbers within it."""

    where: list[str | int]
    message: str


class ProblemDetails(BaseModel):
    """Body of a refusal. error: name of labkit's error, which a client in Python raises again."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["about:blank"] = "about:blank"
    title: str
    status: int = Field(ge=400, le=599)
    detail: str
    error: str | None = None
    arguments: list[WrongArgument] | None = None


class ControlProblem(Exception):
    """Refusal of a control request. headers: of the answer."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        error: str | None = None,
        arguments: list[WrongArgument] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.details = ProblemDetails(
            title=HTTPStatus(status).phrase, status=status, detail=detail, error=error, arguments=arguments
        )
        self.headers = headers or {}

    def body(self) -> bytes:
        """Return the problem details as JSON."""
        return json.dumps(self.details.model_dump(exclude_none=True)).encode()

    def response(self) -> web.Response:
        """Return the answer."""
        return web.Response(
            status=self.details.status, body=self.body(), content_type=PROBLEM_JSON, headers=self.headers
        )


def status_of(kind: type[LabkitError]) -> int:
    """Return the HTTP status of an error of labkit."""
    return next((number for known, number in STATUSES.items() if issubclass(kind, known)), 400)


def problem_of(error: LabkitError) -> ControlProblem:
    """Return the refusal that an error of an operation means."""
    if isinstance(error, StorageError):
        return ControlProblem(error.status, str(error), error="StorageError")
    names = [each.__name__ for each in type(error).__mro__]
    status = status_of(type(error))
    public = next((each for each in names if hasattr(errors, each)), "LabkitError")
    headers = {"Retry-After": "1"} if status == 429 else {}
    return ControlProblem(status, str(error), error=public, headers=headers)


def raised_error(name: str | None, text: str, status: int = 500) -> LabkitError:
    """Return the error that a lab in another process raised. name: of its class, LabError for an unknown one."""
    kind = getattr(errors, name or "", LabError)
    if kind in (StorageError, ServiceError):
        both: LabkitError = kind(status, text)
        return both
    made: LabkitError = kind(text)
    return made


def wrong_arguments(error: ValidationError, body: bytes, model: type[BaseModel]) -> ControlProblem:
    """Return the refusal of a body that is not JSON, or of arguments that are not what the model describes."""
    try:
        values = from_json(body)
    except ValueError as unreadable:
        return ControlProblem(422, f"the body: expected JSON: {unreadable}")
    if not isinstance(values, dict):
        return ControlProblem(422, "the body: expected an object with the arguments by name")
    found, more = mistakes(error, values, model)
    wrong = [WrongArgument(where=list(path), message=_of_argument(path, text)) for path, text in found]
    detail = listed([f"{key_text(path)}: {_of_argument(path, text)}" for path, text in found], more)
    return ControlProblem(422, detail, arguments=wrong)


def _of_argument(path: Sequence[str | int], text: str) -> str:
    """Return the sentence about a setting, of an argument: the keys of the body are names of arguments."""
    return text.replace("unknown key", "unknown argument", 1) if len(path) == 1 else text


def expect_method(request: web.BaseRequest, *allowed: str) -> None:
    """Raise ControlProblem (405) for a request with another method."""
    if request.method not in allowed:
        raise ControlProblem(405, f"expected {' or '.join(allowed)}", headers={"Allow": ", ".join(allowed)})
