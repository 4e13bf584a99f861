"""Faults of the Keystore's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from labkit.conformance.breaking import CALL, always, change_arguments, change_result, is_error
from labkit.conformance.mutant import patch
from labkit.core.errors import ServiceError
from labkit.services.keystore.embedded import Embedded
from labkit.services.keystore.service import Keystore
from labkit.services.operation import Caller

OPERATION = "labkit.services.operation:Operation"
STORE = "labkit.services.keystore.service:Keystore"
SET, DELETE = f"{STORE}.set_value", f"{STORE}.delete_keys"

Pairs = Sequence[tuple[str, Any]]

shared_keys = patch("KEY-CALL-4", f"{STORE}.namespace_of", "all solutions have the same keys")(
    always(b"all:")
)
no_separator = patch(
    "KEY-CALL-4", f"{STORE}.namespace_of", "solutions share keys if the id of one is a prefix of the other's"
)(change_result(lambda namespace: namespace.rstrip(b":")))
text_alone = patch(
    "KEY-MORE-4",
    "labkit.services.keystore.log:as_text",
    "bytes that are no UTF-8 are stored as replacement characters",
)(lambda original, item: item.decode("utf-8", "replace"))
unnamed = patch("KEY-CALL-6", f"{OPERATION}.unknown", "unknown parameters are not recorded")(always({}))
values_shown = patch("KEY-CALL-7 NTF-CALL-13", f"{OPERATION}.shown", "the journal has the values")(
    change_arguments(values=True)
)


first_of_a_key = patch("KEY-MORE-1", SET, "mset stores the first value of a key that it names twice")(
    change_arguments(pairs=lambda pairs: list(dict(reversed(pairs)).items()))
)


@patch("KEY-SET-1", SET)
async def set_once(original: Any, self: Keystore, caller: Caller, pairs: Pairs) -> None:
    """set keeps an existing value"""
    for key, value in pairs:
        await self.command(caller, "setnx", key, [value])


@patch("KEY-SET-2", CALL)
async def failing_set_removes(
    original: Any, self: Any, caller: Caller, name: str, operation: str, parameters: Any = None
) -> Any:
    """a set that fails removes the key"""
    result = await original(self, caller, name, operation, parameters)
    if operation == "set" and is_error(result):
        await original(self, caller, name, "delete", parameters)
    return result


@patch("KEY-SET-4", SET)
async def set_keeps_expiry(original: Any, self: Keystore, caller: Caller, pairs: Pairs) -> None:
    """set keeps the expiry of its key"""
    for key, value in pairs:
        await self.command(caller, "set", key, [value, "KEEPTTL"])


@patch("KEY-DEL-1", DELETE)
async def emptied(original: Any, self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
    """delete leaves the key with an empty value"""
    for key in keys:
        await self._run(b"SET", namespace + key.encode(), b"")


@patch("KEY-DEL-2", DELETE)
async def delete_refused(original: Any, self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
    """delete of a missing key is an error"""
    if not await self._run(b"EXISTS", *(namespace + key.encode() for key in keys)):
        raise ServiceError(404, "no such key")
    await original(self, namespace, keys)


@patch("KEY-MORE-4", "labkit.services.keystore.embedded:Embedded.stop")
async def stopped_without_ends(original: Any, self: Embedded) -> None:
    """a regular stop of the platform removes the expiry of all keys"""
    for key in cast("list[bytes]", self.run(b"KEYS", b"*")):
        await self.execute((b"PERSIST", key))
    await original(self)
