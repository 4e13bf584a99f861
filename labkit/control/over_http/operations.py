"""The operations of Control that other processes can call, and the JSON of their arguments and results.

They are collected from the annotations: each public async method of a subject is an operation. A server and its clients
use the same objects, so that both agree on every type.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from labkit.control.bounds import is_waiting, limit_of
from labkit.control.control import IN_PROCESS, Control, subjects
from labkit.control.data import Table
from labkit.control.over_http.problem import wrong_arguments
from labkit.control.paging import ListPage
from labkit.settings import REVEAL

WAIT = "wait_"  # beginning of the names of operations that wait for something that somebody else does
LARGE = 64 * 1024  # bytes of arguments that are worth a thread of their own
SEVERAL = 500  # items of a result that is worth a thread of its own
PART = 2**20  # characters of a text that are encoded at once

RENAMED = {"plays": "fleets"}  # subjects by their earlier names, under which they go on working

ARGUMENTS = ConfigDict(extra="forbid", strict=True, ser_json_bytes="base64", val_json_bytes="base64")


@dataclass(frozen=True)
class ControlOperation:
    """An operation of a subject: `products.ensure`. function: the method of the subject's class."""

    subject: str
    name: str
    function: Callable[..., Any]

    @property
    def key(self) -> str:
        """Subject and name, as `labkit call` takes it."""
        return f"{self.subject}.{self.name}"

    @property
    def path(self) -> str:
        """Path of its URL."""
        return f"/v1/{self.subject}/{self.name}"

    @property
    def waits(self) -> bool:
        """Whether it waits for something that somebody else does, so that it may last for any time."""
        return self.name.startswith(WAIT) or is_waiting(self.function)

    @property
    def streams(self) -> bool:
        """Whether its result is a stream: items that follow until either side ends it."""
        return get_origin(self._hints["return"]) is AsyncIterator

    @property
    def limit(self) -> float | None:
        """Seconds after which it ends over HTTP; None: never."""
        return limit_of(self.function)

    @property
    def doc(self) -> str:
        """Its description."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """Model of its arguments by name."""
        fields: dict[str, Any] = {
            name: (self._hints[name], ... if each.default is each.empty else each.default)
            for name, each in self._parameters.items()
        }
        title = "".join(part.title() for part in f"{self.subject}_{self.name}".split("_"))
        return create_model(f"{title}Arguments", __config__=ARGUMENTS, **fields)

    @cached_property
    def result(self) -> TypeAdapter[Any]:
        """Type of its result, or of each item of its stream."""
        hint = self._hints["return"]
        return TypeAdapter(get_args(hint)[0] if self.streams else hint)

    async def read_arguments(self, body: bytes) -> dict[str, Any]:
        """Return what `decode_arguments` does; a large body is read in a thread."""
        if len(body) > LARGE:
            return await asyncio.to_thread(self.decode_arguments, body)
        return self.decode_arguments(body)

    def decode_arguments(self, body: bytes) -> dict[str, Any]:
        """Decode a request body to the given arguments by name. Raises ControlProblem (422) for wrong ones."""
        try:
            made = self.arguments.model_validate_json(body or b"{}")
        except ValidationError as error:
            refusal = wrong_arguments(error, body, self.arguments)
        else:
            return {name: getattr(made, name) for name in self._parameters if name in made.model_fields_set}
        raise refusal  # outside of the except clause, so that pydantic's error, which has the body, is freed

    def encode_arguments(self, *args: Any, **kwargs: Any) -> bytes:
        """Return the body for arguments as the method takes them. Raises TypeError for others than it has."""
        given = self._signature.bind(None, *args, **kwargs).arguments
        given.pop("self")
        made = self.arguments.model_construct(**given)
        return made.model_dump_json(exclude_unset=True, warnings=False, context=REVEAL).encode()

    async def encode_result(self, result: Any) -> bytes:
        """Return the JSON of a result; a large one is made in a thread, so that nothing waits for it."""
        if isinstance(result, Table | ListPage):
            # a Python function encodes each of its values, and lets other threads run
            return await asyncio.to_thread(self.result.dump_json, result)
        if isinstance(result, list) and len(result) > SEVERAL:
            return await asyncio.to_thread(self._dump_parts, result, SEVERAL, b",")
        if isinstance(result, str) and len(result) > PART:
            return await asyncio.to_thread(self._dump_parts, result, PART, b"")
        return self.result.dump_json(result)

    def _dump_parts(self, result: list[Any] | str, length: int, between: bytes) -> bytes:
        """Return the JSON of a list or a text, made in parts, since no other thread runs while one is made."""
        parts = (result[begin : begin + length] for begin in range(0, len(result), length))
        made = between.join(self.result.dump_json(each)[1:-1] for each in parts)
        return b'"%b"' % made if isinstance(result, str) else b"[%b]" % made

    def decode_result(self, body: bytes) -> Any:
        """Return the result in an answer."""
        return self.result.validate_json(body)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def _parameters(self) -> dict[str, inspect.Parameter]:
        found = dict(self._signature.parameters)
        del found["self"]
        return found


@cache
def operations() -> Mapping[str, ControlOperation]:
    """Return all operations that other processes can call, by key."""
    found = (
        ControlOperation(subject, name, function)
        for subject, kind in subjects().items()
        if subject not in IN_PROCESS
        for name, function in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_")
    )
    return {each.key: each for each in found}


def present(name: str) -> str:
    """Return the key or the path of an operation with the present name of its subject: `fleets.run` for `plays.run`."""
    parts = re.split(r"([./])", name)
    return "".join(RENAMED.get(each, each) for each in parts)


def method(control: Control, operation: ControlOperation) -> Callable[..., Any]:
    """Return the operation as a method of this lab."""
    found: Callable[..., Any] = getattr(getattr(control, operation.subject), operation.name)
    return found
