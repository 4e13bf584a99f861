"""Chance from a seed: streams of their own for whoever needs one, whatever the others draw."""

from __future__ import annotations

import hashlib
import random

Chance = random.Random


def chance(seed: int, *of: object) -> Chance:
    """The random numbers of this seed for what is named, the same in every process: `chance(7, "device", 17)`."""
    material = "\0".join([str(seed), *map(str, of)]).encode()
    return random.Random(int.from_bytes(hashlib.sha256(material).digest(), "big"))


def fresh_seed() -> int:
    """A seed that nobody has chosen."""
    return random.SystemRandom().randrange(2**32)


def shuffled(seed: int, *numbers: int) -> int:
    """A number drawn from all of these, for an order by chance that costs little (the mixer of SplitMix64)."""
    state = seed & MASK
    for number in numbers:
        state = mixed(state, number)
    return state


def mixed(state: int, number: int) -> int:
    """A step of `shuffled`: what all numbers so far have given, with one more."""
    state = (state ^ (number & MASK)) * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15 & MASK
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
    return state ^ (state >> 31)


MASK = 2**64 - 1
