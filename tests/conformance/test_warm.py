"""The lab that is prepared before a fork, whose copies patches are tried on."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import pytest

from labkit import Lab
from labkit.conformance.mutant import Patch, mutant
from labkit.conformance.target import Target
from tests.conformance import mutation, warm
from tests.conformance.trial import Trial
from tests.conformance.warm import SEED, Warm, warmed


@pytest.fixture(scope="module")
def there() -> Warm:
    return warmed()


def one(patches: str, replace: Any = lambda original: original) -> Patch:
    return mutant("X-Y-1", patches)(replace)


def test_no_thread_is_left_for_a_fork_to_lose() -> None:
    before = threading.active_count()
    warmed()
    assert threading.active_count() == before


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record whether a patch is tried on its own lab or on the prepared one."""
    labs: list[str] = []
    monkeypatch.setattr(mutation, "applied", lambda patch: nullcontext())
    monkeypatch.setattr(Warm, "target", lambda self: "there")
    monkeypatch.setattr(Target, "local", lambda *args: "its own")
    monkeypatch.setattr(mutation, "Lab", Nothing)

    def play(patch: Patch, target: Any) -> Trial:
        labs.append(target)
        return Trial(patch.name, (), True)

    monkeypatch.setattr(mutation, "try_alone", play)
    return labs


class Nothing:
    """Stub of a lab that is not started."""

    def __init__(self, *args: object, **options: object) -> None:
        pass

    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None: ...


def test_a_patch_is_tried_on_the_prepared_lab(there: Warm, tried: list[str]) -> None:
    assert mutation.run_patch(one("labkit.device_api.wire:reply"), there).killed
    assert mutation.run_patch(one("labkit.device_api.wire:reply")).killed
    assert tried == ["there", "its own"]


def test_a_patch_of_the_start_is_tried_on_a_lab_of_its_own(there: Warm, tried: list[str]) -> None:
    late = mutant("X-Y-1", "labkit.solutions.web.routes:Routes.add", from_start=True)(
        lambda original: original
    )
    assert mutation.run_patch(late, there).killed
    assert tried == ["its own"]


def test_a_prepared_lab_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = warmed()
    monkeypatch.setattr(warm, "_kept", [made])
    with warm.target_of_seed() as target:
        resumed = target.lab
        assert set(target._domains) >= {"token-open", "probe"}
        assert warm.take() is None
        with Lab(SEED) as other, warm.target_of_seed() as fresh:
            assert len({each.address.https_port for each in (resumed, other, fresh.lab)}) == 3
    resumed.close()
