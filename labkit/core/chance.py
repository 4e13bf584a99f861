"""Seeded random numbers: independent streams, each unaffected by draws from other streams."""

from __future__ import annotations

import hashlib
import random

Chance = random.Random


def chance(seed: int, *of: object) -> Chance:
    """Return the random stream of a seed and a key, the same in every process: `chance(7, "device", 17)`."""
    material = "\0".join([str(seed), *map(str, of)]).encode()
    return random.Random(int.from_bytes(hashlib.sha256(material).digest(), "big"))


def fresh_seed() -> int:
    """Return a random seed."""
    return random.SystemRandom().randrange(2**32)


def seeded_hash(seed: int, *numbers: int) -> int:
    """Return a hash of seed and numbers, as a cheap key for a random order (the mixer of SplitMix64)."""
    state = seed & MASK
    for number in numbers:
        state = extend_hash(state, number)
    return state


def extend_hash(state: int, number: int) -> int:
    """Return the hash `state` extended by one more number."""
    state = (state ^ (number & MASK)) * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15 & MASK
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
    return state ^ (state >> 31)


MASK = 2**64 - 1
