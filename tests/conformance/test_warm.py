"""A lab that is there before a fork: a mutant on a copy of it is the same as one on a lab that started with it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from labkit import Lab
from labkit.conformance import mutation, warm
from labkit.conformance.faults import CALL, given, gives
from labkit.conformance.mutant import Mutant, Trial, mutant
from labkit.conformance.target import Target
from labkit.conformance.warm import SEED, Warm, warmed


@pytest.fixture(scope="module")
def there() -> Warm:
    return warmed()


def one(patches: str, replace: Any = lambda original: original) -> Mutant:
    return mutant("X-Y-1", patches)(replace)


def test_no_thread_is_left_for_a_fork_to_lose() -> None:
    before = threading.active_count()
    warmed()
    assert threading.active_count() == before


@pytest.mark.parametrize(
    "patches",
    [
        "labkit.solutions.routes:Routes.add",  # a method
        "labkit.solutions.routes:segments_of",  # a function
        "labkit.services.interface.configuration:Definition.read",  # a class method
        "labkit.edge.server:EdgeServer.stop",  # which only suspending it needs
        "labkit.core.errors:LabkitError",  # a class: nobody knows
    ],
)
def test_what_ran_while_the_lab_started_cannot_be_broken_later(there: Warm, patches: str) -> None:
    assert not mutation.is_later(one(patches), there)


@pytest.mark.parametrize(
    "patches",
    ["labkit.device_api.wire:reply", "labkit.devices.state:State.store", "labkit.edge.names:judge"],
)
def test_what_only_a_request_needs_did_not_run(there: Warm, patches: str) -> None:
    assert mutation.is_later(one(patches), there)


@pytest.mark.parametrize(("service", "later"), [("User", True), ("Notify", True), ("Keystore", False)])
@pytest.mark.parametrize("fault", [gives, given])
def test_a_change_of_calls_that_nobody_made_yet_comes_in_time(
    there: Warm, fault: Any, service: str, later: bool
) -> None:
    """The solutions of lab.yaml call Keystore while they are set up."""
    assert there.called == {"Keystore"}
    changed = one(CALL, lambda original: fault(original, service, lambda operation, value: value))
    assert mutation.is_later(changed, there) is later


def test_a_change_of_all_calls_does_not(there: Warm) -> None:
    assert not mutation.is_later(one(CALL), there)


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """On which labs a mutant is tried: its own or one that was there; it is killed on the former alone."""
    labs: list[str] = []
    monkeypatch.setattr(mutation, "apply", lambda mutant: None)
    monkeypatch.setattr(Warm, "target", lambda self: "there")
    monkeypatch.setattr(Target, "local", lambda *args: "its own")
    monkeypatch.setattr(mutation, "Lab", Nothing)

    def play(mutant: Mutant, target: Any) -> Trial:
        labs.append(target)
        return Trial(mutant.name, () if target == "its own" else mutant.requirements, True)

    monkeypatch.setattr(mutation, "try_on", play)
    return labs


class Nothing:
    """A lab that is not started."""

    def __init__(self, *args: object, **options: object) -> None:
        pass

    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None: ...


def test_a_survivor_is_tried_again_on_a_lab_that_starts_with_it(there: Warm, tried: list[str]) -> None:
    assert mutation.run_mutant(one("labkit.device_api.wire:reply"), there).killed
    assert tried == ["there", "its own"]


def test_what_the_start_ran_is_tried_on_a_lab_of_its_own_alone(there: Warm, tried: list[str]) -> None:
    assert mutation.run_mutant(one("labkit.solutions.routes:Routes.add"), there).killed
    assert tried == ["its own"]


def test_a_lab_that_is_there_serves_its_own_seed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = warmed()
    monkeypatch.setattr(warm, "_kept", [made])
    with warm.target_of("lab", SEED + 1) as target:
        assert target.lab.address.ca_pem
    with warm.target_of("lab", SEED) as target:
        resumed = target.lab
        assert set(target._domains) >= {"token-open", "probe"}
        assert warm.take() is None
        with Lab(SEED) as other, warm.target_of("lab", SEED) as fresh:
            assert len({each.address.https_port for each in (resumed, other, fresh.lab)}) == 3
    resumed.close()
