"""Faults of the Keystore's operations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.conformance.faults import CALL, failed, given, gives
from labkit.conformance.mutant import mutant
from labkit.core.errors import ServiceError
from labkit.services.calls import Services
from labkit.services.keystore.service import Keystore
from labkit.services.operation import Caller, Operation

ARGUMENTS = "labkit.services.operation:Operation.arguments"
ENCODED = "labkit.services.keystore.arguments:encoded"
PLAIN = "labkit.services.keystore.commands:plain"
SET = "labkit.services.keystore.service:Keystore.set_value"
DELETE = "labkit.services.keystore.service:Keystore.delete_keys"
PAGE = "labkit.services.keystore.service:Keystore.scan_page"

Pairs = Sequence[tuple[str, Any]]


# ---- how it is called


@mutant("KEY-CALL-1 KEY-CMD-1", CALL)
def parameters_lost(original: Any) -> Any:
    """no parameter arrives"""
    return _given(original, lambda operation, parameters: {})


@mutant("KEY-CALL-1 KEY-GET-1 KEY-SET-1 KEY-DEL-1 KEY-CMD-1", CALL)
def no_results(original: Any) -> Any:
    """calls give nothing"""
    return _found(original, lambda operation, result: None)


@mutant("KEY-CALL-2", CALL)
def raises(original: Any) -> Any:
    """a call that fails raises an error in the script"""

    def check(operation: str, result: Any) -> Any:
        if failed(result):
            raise ValueError(result["error"])
        return result

    return _found(original, check)


@mutant("KEY-CALL-2", ARGUMENTS)
def unknown_refused(original: Any) -> Any:
    """a parameter that no operation knows is refused"""

    def broken(self: Operation, parameters: Mapping[str, object]) -> Any:
        if unknown := parameters.keys() - self.attributes.keys():
            raise ServiceError(400, f"unknown parameter {sorted(unknown)[0]}")
        return original(self, parameters)

    return broken


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


@mutant("KEY-CALL-5", ARGUMENTS)
def keys_cut(original: Any) -> Any:
    """a key that is too long is cut"""

    def cut(parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value[:200] if name == "key" else value for name, value in parameters.items()}

    return lambda self, parameters: original(self, cut(parameters))


@mutant("KEY-CALL-6", "labkit.services.operation:Operation.unknown")
def unnamed(original: Any) -> Any:
    """nobody learns of unknown parameters"""
    return lambda self, names: {}


@mutant("KEY-CALL-7", "labkit.services.operation:Operation.shown")
def values_shown(original: Any) -> Any:
    """the journal has the values"""
    return lambda self, parameters, **_: original(self, parameters, values=True)


# ---- get, set, delete


@mutant("KEY-GET-1", ENCODED)
def spaces_lost(original: Any) -> Any:
    """values lose the spaces around them"""
    return lambda value: original(value).strip()


@mutant("KEY-GET-1 KEY-SET-3 SOL-MET-1", CALL)
def numbers_guessed(original: Any) -> Any:
    """get gives a number where the text looks like one"""

    def guess(operation: str, result: Any) -> Any:
        if operation != "get" or "value" not in result:
            return result
        try:
            return {"value": json.loads(result["value"])}
        except ValueError:
            return result

    return _found(original, guess)


@mutant("KEY-GET-1", CALL)
def value_alone(original: Any) -> Any:
    """get gives the value without a table"""
    return _found(original, lambda operation, found: found.get("value") if operation == "get" else found)


@mutant("KEY-GET-2", CALL)
def nothing_refused(original: Any) -> Any:
    """get of a key that is not there is an error"""

    def refuse(operation: str, result: Any) -> Any:
        return ServiceError(404, "no such key").as_object() if (operation, result) == ("get", {}) else result

    return _found(original, refuse)


@mutant("KEY-SET-1", SET)
def set_once(original: Any) -> Any:
    """set keeps what was there"""

    async def broken(self: Keystore, caller: Caller, pairs: Pairs) -> None:
        for key, value in pairs:
            await self.command(caller, "setnx", key, [value])

    return broken


@mutant("KEY-SET-1", CALL)
def set_says_status(original: Any) -> Any:
    """set gives a status when all is well"""
    return _found(original, lambda operation, found: {"status": 200} if found == {} else found)


@mutant("KEY-SET-2", CALL)
def set_fails_silently(original: Any) -> Any:
    """a set that fails gives an empty table"""
    return _found(original, lambda operation, found: {} if operation == "set" else found)


@mutant("KEY-SET-2", CALL)
def failing_set_removes(original: Any) -> Any:
    """a set that fails removes the key"""

    async def broken(
        self: Services, caller: Caller, service: str, operation: str, parameters: Any = None
    ) -> Any:
        result = await original(self, caller, service, operation, parameters)
        if operation == "set" and failed(result):
            await original(self, caller, service, "delete", parameters)
        return result

    return broken


@mutant("KEY-SET-2 KEY-SET-3", CALL)
def tables_stored(original: Any) -> Any:
    """set takes a table, and stores its JSON"""

    def written(operation: str, parameters: Any) -> Any:
        if operation != "set" or not isinstance(parameters.get("value"), dict | list):
            return parameters
        return {**parameters, "value": json.dumps(parameters["value"])}

    return _given(original, written)


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


@mutant("KEY-DEL-1", DELETE)
def kept(original: Any) -> Any:
    """delete leaves everything as it is"""

    async def broken(self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
        pass

    return broken


@mutant("KEY-DEL-1", CALL)
def delete_gives_nothing(original: Any) -> Any:
    """delete gives nothing"""
    return _found(original, lambda operation, found: None if operation == "delete" else found)


@mutant("KEY-DEL-2", DELETE)
def delete_refused(original: Any) -> Any:
    """delete of a key that is not there is an error"""

    async def broken(self: Keystore, namespace: bytes, keys: Sequence[str]) -> None:
        if not await self._run(b"EXISTS", *(namespace + key.encode() for key in keys)):
            raise ServiceError(404, "no such key")
        await original(self, namespace, keys)

    return broken


# ---- command


@mutant("KEY-CMD-1 KEY-INCR-1", CALL)
def result_alone(original: Any) -> Any:
    """command gives the result without a table"""
    return _found(original, lambda operation, found: found.get("value") if operation == "command" else found)


@mutant("KEY-CMD-1", CALL)
def turned_round(original: Any) -> Any:
    """command takes its arguments in reverse"""

    def turn(operation: str, parameters: Any) -> Any:
        return {**parameters, "args": parameters["args"][::-1]} if operation == "command" else parameters

    return _given(original, turn)


@mutant("KEY-CMD-2", CALL)
def case_counts(original: Any) -> Any:
    """the name of a command counts in lower case alone"""

    def name(operation: str, parameters: Any) -> Any:
        if operation == "command" and not parameters["command"].islower():
            return {**parameters, "command": "unknown"}
        return parameters

    return _given(original, name)


@mutant("KEY-CMD-2", CALL)
def unknown_commands(original: Any) -> Any:
    """a command that there is not gives nothing"""

    def ignore(operation: str, result: Any) -> Any:
        return {} if operation == "command" and "expected one of" in result.get("error", "") else result

    return _found(original, ignore)


@mutant("KEY-CMD-4 KEY-CMD-1 KEY-INCR-1", PLAIN)
def integers_as_text(original: Any) -> Any:
    """an integer is given as text"""
    return lambda reply: str(reply) if isinstance(reply, int) else original(reply)


@mutant("KEY-CMD-4", PLAIN)
def flat_hashes(original: Any) -> Any:
    """hgetall gives a list"""

    def broken(reply: Any) -> Any:
        if isinstance(reply, dict):
            return original([part for pair in reply.items() for part in pair])
        return original(reply)

    return broken


@mutant("KEY-CMD-5", "labkit.services.keystore.embedded:worded")
def no_reason(original: Any) -> Any:
    """a command that Redis refuses does not say why"""
    return lambda text, name: "refused"


# ---- operations that the document does not use


@mutant("KEY-MORE-1", CALL)
def no_gaps(original: Any) -> Any:
    """mget leaves out what is not there"""

    def close(operation: str, result: Any) -> Any:
        if operation != "mget":
            return result
        return {"values": [value for value in result["values"] if value is not None]}

    return _found(original, close)


@mutant("KEY-MORE-2", PAGE)
def first_page(original: Any) -> Any:
    """list gives the first page alone"""

    async def broken(self: Keystore, *position: Any) -> tuple[list[str], int]:
        page, _ = await original(self, *position)
        return page, 0

    return broken


@mutant("KEY-MORE-2 KEY-MORE-3 KEY-CALL-4", PAGE)
def match_ignored(original: Any) -> Any:
    """list and clear do not heed match, nor the solution"""

    async def broken(self: Keystore, namespace: bytes, match: str, cursor: int, count: int) -> Any:
        page, after = await original(self, b"", "", cursor, count)
        return [key.partition(":")[2] for key in page], after

    return broken


def _found(original: Any, change: Callable[[str, Any], Any]) -> Any:
    """Change what Keystore calls give."""
    return gives(original, "Keystore", change)


def _given(original: Any, change: Callable[[str, Any], Any]) -> Any:
    """Change what Keystore calls are given."""
    return given(original, "Keystore", change)
