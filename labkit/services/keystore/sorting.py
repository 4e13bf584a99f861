"""SORT and SORT_RO in an order that does not depend on chance, with the size of the result bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labkit.services.keystore.commands import SORT_WORDS, SYNTAX, Command, refusal, sort_words
from labkit.services.keystore.rewriting import (
    MOST_STEPS,
    CommandRunner,
    RewriteResult,
    run_unchanged,
)

MOST_LOOKUPS = 1_000_000  # items times patterns of one call
_COPY = b"sorted set members"  # no solution's key, since it has no colon
_SIZES = {b"list": b"LLEN", b"set": b"SCARD", b"zset": b"ZCARD"}


def sort(store: CommandRunner, command: Command) -> RewriteResult:
    """Run SORT or SORT_RO. The effect of STORE is the list that it stores."""
    if len(command) < 2:
        return run_unchanged(store, command)
    name, key, *rest = command
    read, target = _without_store(rest) if name == b"SORT" else (rest, None)
    kind = store.run(b"TYPE", key)
    size = store.run(_SIZES[kind], key) if isinstance(kind, bytes) and kind in _SIZES else 0
    check_lookups(size if isinstance(size, int) else 0, rest)
    found = _sorted_set(store, key, read) if kind == b"set" else store.run(b"SORT_RO", key, *read)
    items = [each if isinstance(each, bytes) else None for each in found] if isinstance(found, list) else []
    length = sum(len(each) for each in items if each is not None)
    if length > MOST_STEPS:
        raise refusal(f"the values have {length} bytes, more than {MOST_STEPS}")
    if target is None:
        return [*items], ()
    effects: list[Command] = [(b"DEL", target)]
    if items:
        effects.append((b"RPUSH", target, *[each or b"" for each in items]))
    for effect in effects:
        store.run(*effect)
    return len(items), tuple(effects)


def check_lookups(size: int, rest: Sequence[bytes]) -> None:
    """Raise ServiceError 400 if patterns would look up too many keys. size: number of items."""
    patterns = 1 + sum(word in (b"BY", b"GET") for word, _ in sort_words(rest))
    if size * patterns > MOST_LOOKUPS:
        raise refusal(f"{size} items times {patterns} patterns are more than {MOST_LOOKUPS}")


def _sorted_set(store: CommandRunner, key: bytes, read: Sequence[bytes]) -> object:
    """Return the reply for a set, whose members have no order of their own: begin with that of their bytes."""
    members = store.run(b"SMEMBERS", key)
    assert isinstance(members, list)
    store.run(b"RPUSH", _COPY, *sorted(each for each in members if isinstance(each, bytes)))
    try:
        return store.run(b"SORT_RO", _COPY, *read)
    finally:
        store.run(b"DEL", _COPY)


def _without_store(rest: Sequence[bytes]) -> tuple[list[bytes], bytes | None]:
    """Return the arguments without STORE, and the key of the last STORE. Raises ServiceError for a wrong argument."""
    target = None
    kept: list[bytes] = []
    for word, parts in _parsed(rest):
        if word == b"STORE":
            target = parts[1]
        else:
            kept += parts
    return kept, target


def _parsed(rest: Sequence[bytes]) -> Iterator[tuple[bytes, Sequence[bytes]]]:
    """Yield the words with their arguments. Raises ServiceError 400 for an unknown word, or a missing argument."""
    for word, position in sort_words(rest):
        count = SORT_WORDS.get(word, 0)
        parts = rest[position : position + count]
        if not count or len(parts) < count:
            raise refusal(SYNTAX)
        yield word, parts
