"""Every attack on the OAuth provider is refused as it should be, and the honest party fares as it should."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from labkit.conformance.attacks import ATTACKS, Actor, Attack, attempt
from tests.services.user.place import Place

GROUPS = {
    "codes",
    "redirects",
    "clients",
    "secrets",
    "grants",
    "refresh tokens",
    "access tokens",
    "bearer",
    "scopes",
    "ttl",
}


NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def stage() -> Iterator[Place]:
    """One for all attacks, as a provider is: each makes clients of its own."""
    place = Place()
    yield place
    place.close()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.group}: {attack.name}")
async def test_the_provider_withstands(stage: Place, attack: Attack) -> None:
    ann, mallory = [
        Actor(user.id, await stage.token(user))
        for user in [await stage.person(f"{name} {next(NUMBERS)}") for name in ("ann", "mallory")]
    ]
    outcome = await attempt(attack, stage.call, ann, mallory, stage.clock.advance)
    assert outcome.withstood, outcome


def test_the_table_is_whole() -> None:
    count = Counter(attack.group for attack in ATTACKS)
    assert set(count) == GROUPS
    assert sum(count.values()) >= 45
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.rfc.startswith("RFC ") and attack.how.endswith(".") for attack in ATTACKS)
