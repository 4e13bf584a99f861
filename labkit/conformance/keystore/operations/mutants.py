"""Faults of the Keystore's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.breaking import CALL, failed, gives
from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.services.calls import Services
from labkit.services.keystore.service import Keystore
from labkit.services.operation import Caller, Operation

SET = "labkit.services.keystore.service:Keystore.set_value"
DELETE = "labkit.services.keystore.service:Keystore.delete_keys"
PAGE = "labkit.services.keystore.service:Keystore.scan_page"

Pairs = Sequence[tuple[str, Any]]


# ---- how it is called


@mutant("KEY-CALL-2", CALL)
def raises(original: Any) -> Any:
    """a call that fails raises an error in the script"""

    def check(operation: str, result: Any) -> Any:
        if failed(result):
            raise ValueError(result["error"])
        return result

    return gives(original, "Keystore", check)


@mutant("KEY-CALL-3", "labkit.services.calls:Services.with_defaults")
def list_is_key(original: Any) -> Any:
    """the first item of a list counts as the key"""

    def broken(self: Services, caller: Caller, declared: Operation, parameters: Any) -> Any:
        first = {"key": str(parameters[0])} if isinstance(parameters, list) and parameters else parameters
        return original(self, caller, declared, first)

    return broken


@mutant("KEY-CALL-4", "labkit.services.keystore.service:Keystore.namespace_of")
def shared_keys(original: Any) -> Any:
    """all solutions have the same keys"""
    return lambda self, caller: b"all:"


@mutant("KEY-CALL-6", "labkit.services.operation:Operation.unknown")
def unnamed(original: Any) -> Any:
    """nobody learns of unknown parameters"""
    return lambda self, names: {}


@mutant("KEY-CALL-7", "labkit.services.operation:Operation.shown")
def values_shown(original: Any) -> Any:
    """the journal has the values"""
    return lambda self, parameters, **_: original(self, parameters, values=True)


# ---- get, set, delete


@mutant("KEY-SET-1", SET)
def set_once(original: Any) -> Any:
    """set keeps what was there"""

    async def broken(self: Keystore, caller: Caller, pairs: Pairs) -> None:
        for key, value in pairs:
            await self.command(caller, "setnx", key, [value])

    return broken


@mutant("KEY-SET-2", CALL)
def failing_set_removes(original: Any) -> Any:
    """a set that fails removes the key"""

    async def broken(self: Services, caller: Caller, name: str, operation: str, given: Any = None) -> Any:
        result = await original(self, caller, name, operation, given)
        if operation == "set" and failed(result):
            await original(self, caller, name, "delete", given)
        return result

    return broken


@mutant("KEY-SET-4", SET)
def set_keeps_expiry(original: Any) -> Any:
    """set keeps the expiry of its key"""

    async def broken(self: Keystore, caller: Caller, pairs: Pairs) -> None:
        for key, value in pairs:
            await self.command(caller, "set", key, [value, "KEEPTTL"])

    return broken


@mutant("KEY-DEL-1", DELETE)
def emptied(original: Any) -> Any:
    """delete leaves the key with an empty value"""

    async def broken(self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
        for key in keys:
            await self._run(b"SET", namespace + key.encode(), b"")

    return broken


@mutant("KEY-DEL-2", DELETE)
def delete_refused(original: Any) -> Any:
    """delete of a key that is not there is an error"""

    async def broken(self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
        if not await self._run(b"EXISTS", *(namespace + key.encode() for key in keys)):
            raise ServiceError(404, "no such key")
        await original(self, namespace, keys)

    return broken


# ---- operations that the document does not use


@mutant("KEY-MORE-2 KEY-MORE-3 KEY-CALL-4", PAGE)
def match_ignored(original: Any) -> Any:
    """list and clear do not heed match, nor the solution"""

    async def broken(self: Keystore, namespace: bytes, match: str, cursor: int, count: int) -> Any:
        page, after = await original(self, b"", "", cursor, count)
        return [key.partition(":")[2] for key in page], after

    return broken
