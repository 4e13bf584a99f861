"""Rewrites of BITOP, BITFIELD and BITFIELD_RO."""

from __future__ import annotations

from labkit.services.keystore.commands import NOT_AN_INTEGER, SYNTAX, Command, integer, refusal
from labkit.services.keystore.rewriting import (
    LARGEST_BIT,
    MOST_STEPS,
    CommandRunner,
    RewriteResult,
    as_text,
    run_unchanged,
)


def bitop(store: CommandRunner, command: Command) -> RewriteResult:
    """Run BITOP on numbers, since fakeredis works on single bytes."""
    if len(command) < 4:
        return run_unchanged(store, command)
    name, target, keys = command[1].upper(), command[2], command[3:]
    if name not in (b"AND", b"OR", b"XOR", b"NOT"):
        raise refusal(SYNTAX)
    if name == b"NOT" and len(keys) != 1:
        raise refusal("BITOP NOT must be called with a single source key.")
    found = [store.run(b"GET", key) for key in keys]  # raises if a key has another type
    values = [each if isinstance(each, bytes) else b"" for each in found]
    size = max(map(len, values))
    if size * len(values) > MOST_STEPS:
        raise refusal(f"the values have {size * len(values)} bytes, more than {MOST_STEPS}")
    numbers = [int.from_bytes(each.ljust(size, b"\0"), "big") for each in values]
    result = numbers[0] ^ ((1 << 8 * size) - 1) if name == b"NOT" else numbers[0]
    for number in numbers[1:]:
        result = result & number if name == b"AND" else result | number if name == b"OR" else result ^ number
    effect = (b"SET", target, result.to_bytes(size, "big")) if size else (b"DEL", target)
    store.run(*effect)
    return size, (effect,)


_BITFIELD = {b"GET": 2, b"SET": 3, b"INCRBY": 3, b"OVERFLOW": 1}  # numbers of arguments


def bitfield(store: CommandRunner, command: Command) -> RewriteResult:
    """Run BITFIELD or BITFIELD_RO. A bit has a position below LARGEST_BIT."""
    name, key, *rest = command
    reads, position, last_bit = True, 0, -1
    while position < len(rest):
        word = rest[position].upper()
        arguments = rest[position + 1 : position + 1 + _BITFIELD.get(word, 0)]
        if not arguments or len(arguments) < _BITFIELD[word]:
            raise refusal(SYNTAX)
        if word != b"OVERFLOW":
            last = _last_bit(*arguments)
            last_bit = last_bit if word == b"GET" else max(last_bit, last)
        elif arguments[0].upper() not in (b"WRAP", b"SAT", b"FAIL"):
            raise refusal("Invalid OVERFLOW type specified")
        reads = reads and word == b"GET"
        position += 1 + len(arguments)
    if name == b"BITFIELD_RO" and not reads:
        raise refusal("BITFIELD_RO only supports the GET subcommand")
    effects: list[Command] = [] if reads else [(b"BITFIELD", key, *rest)]
    length = store.run(b"STRLEN", key)  # raises if the key has another type
    if (
        isinstance(length, int) and last_bit >= 8 * length
    ):  # Redis extends the value also for a failing INCRBY
        effects.insert(0, (b"SETBIT", key, as_text(last_bit // 8 * 8 + 7), b"0"))
        store.run(*effects[0])
    return store.run(b"BITFIELD", key, *rest), tuple(effects)


def _last_bit(encoding: bytes, offset: bytes, amount: bytes = b"0") -> int:
    """Return the position of the last bit of GET, SET or INCRBY.

    Raises ServiceError for arguments that Redis refuses: it checks all before it begins.
    """
    width = integer(encoding[1:])
    if (
        encoding[:1] not in (b"i", b"u")
        or width is None
        or not 1 <= width <= (64 if encoding[:1] == b"i" else 63)
    ):
        raise refusal(
            "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
        )
    number = integer(offset.removeprefix(b"#"))
    first = -1 if number is None else number * width if offset.startswith(b"#") else number
    if not 0 <= first <= LARGEST_BIT - width + 1:
        raise refusal("bit offset is not an integer or out of range")
    if integer(amount) is None:
        raise refusal(NOT_AN_INTEGER)
    return first + width - 1
