"""Faults of the Keystore's operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from labkit.conformance.breaking import CALL, always, failed, given, gives
from labkit.conformance.mutant import instead, patch
from labkit.core.errors import ServiceError
from labkit.services.keystore.embedded import Embedded
from labkit.services.keystore.service import Keystore
from labkit.services.operation import Caller

OPERATION = "labkit.services.operation:Operation"
STORE = "labkit.services.keystore.service:Keystore"
SET, DELETE = f"{STORE}.set_value", f"{STORE}.delete_keys"

Pairs = Sequence[tuple[str, Any]]

shared_keys = patch(
    "KEY-CALL-4", f"{STORE}.namespace_of", "all solutions have the same keys", always(b"all:")
)
no_separator = patch(
    "KEY-CALL-4",
    f"{STORE}.namespace_of",
    "the keys of two solutions meet where the id of one begins with that of the other",
    gives(lambda namespace: namespace.rstrip(b":")),
)
text_alone = patch(
    "KEY-MORE-4",
    "labkit.services.keystore.log:as_text",
    "what is no UTF-8 is kept as the sign for that",
    lambda original, item: item.decode("utf-8", "replace"),
)
unnamed = patch("KEY-CALL-6", f"{OPERATION}.unknown", "nobody learns of unknown parameters", always({}))
values_shown = patch(
    "KEY-CALL-7 NTF-CALL-13", f"{OPERATION}.shown", "the journal has the values", given(values=True)
)


first_of_a_key = patch(
    "KEY-MORE-1",
    SET,
    "of a key that mset names twice the first value counts",
    given(pairs=lambda pairs: list(dict(reversed(pairs)).items())),
)


@instead("KEY-SET-1", SET)
async def set_once(original: Any, self: Keystore, caller: Caller, pairs: Pairs) -> None:
    """set keeps what was there"""
    for key, value in pairs:
        await self.command(caller, "setnx", key, [value])


@instead("KEY-SET-2", CALL)
async def failing_set_removes(
    original: Any, self: Any, caller: Caller, name: str, operation: str, parameters: Any = None
) -> Any:
    """a set that fails removes the key"""
    result = await original(self, caller, name, operation, parameters)
    if operation == "set" and failed(result):
        await original(self, caller, name, "delete", parameters)
    return result


@instead("KEY-SET-4", SET)
async def set_keeps_expiry(original: Any, self: Keystore, caller: Caller, pairs: Pairs) -> None:
    """set keeps the expiry of its key"""
    for key, value in pairs:
        await self.command(caller, "set", key, [value, "KEEPTTL"])


@instead("KEY-DEL-1", DELETE)
async def emptied(original: Any, self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
    """delete leaves the key with an empty value"""
    for key in keys:
        await self._run(b"SET", namespace + key.encode(), b"")


@instead("KEY-DEL-2", DELETE)
async def delete_refused(original: Any, self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
    """delete of a key that is not there is an error"""
    if not await self._run(b"EXISTS", *(namespace + key.encode() for key in keys)):
        raise ServiceError(404, "no such key")
    await original(self, namespace, keys)


@instead("KEY-MORE-4", "labkit.services.keystore.embedded:Embedded.stop")
async def stopped_without_ends(original: Any, self: Embedded) -> None:
    """no key of a platform that was stopped ends"""
    for key in cast("list[bytes]", self.run(b"KEYS", b"*")):
        await self.execute((b"PERSIST", key))
    await original(self)
