"""Faults of commands on several keys that no row can express."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.conformance.breaking import always, change_result
from labkit.conformance.mutant import patch
from labkit.services.keystore.commands import CommandSpec, Layout

SPEC = "labkit.services.keystore.commands:CommandSpec"

keys_of_all = patch(
    "KEY-FURTHER-2", f"{SPEC}.key_positions", "further keys of a command are those of all solutions"
)(always(()))
no_limit = patch("KEY-FURTHER-4", "labkit.services.keystore.further:check_length", "setrange has no limit")(
    always(None)
)


@patch("KEY-FURTHER-2", f"{SPEC}.request")
def key_first(original: Any, self: CommandSpec, key: bytes, args: Sequence[bytes]) -> tuple[bytes, ...]:
    """the number of keys has to stand behind the first key"""
    if self.layout is Layout.COUNTED:
        return (self.name, key, *args)
    return original(self, key, args)  # type: ignore[no-any-return]


@patch("KEY-FURTHER-4", f"{SPEC}.request")
def other_databases(original: Any, self: CommandSpec, key: bytes, args: Sequence[bytes]) -> tuple[bytes, ...]:
    """copy to another database is no error"""
    without = [each for each in args if each.upper() != b"DB"]
    shorter = without[:-1] if len(without) < len(args) else without
    return original(self, key, shorter)  # type: ignore[no-any-return]


@patch("KEY-FURTHER-3", "labkit.services.keystore.log:CommandLog.append")
async def one_key_stored(original: Any, self: Any, time: int, commands: Any) -> None:
    """of the keys that a command changes the first is stored alone"""
    changed = [command[:3] if command[0] == b"MSET" else command for command in commands]
    await original(self, time, changed)


@patch("KEY-FURTHER-2", "labkit.services.keystore.commands:sort_keys")
def patterns_of_all(original: Any, args: Sequence[bytes]) -> list[int]:
    """patterns of SORT name the keys of all solutions"""
    return [each for each in original(args) if args[each - 1].upper() == b"STORE"]


sort_has_no_limit = patch(
    "KEY-FURTHER-4", "labkit.services.keystore.sorting:check_lookups", "SORT has no limit"
)(always(None))

far_away = patch("KEY-FURTHER-1", "labkit.services.keystore.places:distance", "places are twice as far away")(
    change_result(lambda found: 2 * found)
)
