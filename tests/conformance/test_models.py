"""Model checks: the search for sequences, and agreement of the models with a lab beyond the runs of a report.

The sequences of a report run once for all tests (tests/played.py); here run a few with another seed, and many at
full size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit import Lab
from labkit.conformance import check as checking
from labkit.conformance import runner
from labkit.conformance.catalogue import Catalogue, load
from labkit.conformance.check import Check, all_checks, model_check
from labkit.conformance.device.restart.checks_model import Restarts, restarts
from labkit.conformance.models import search as searching
from labkit.conformance.models.calls import Calls
from labkit.conformance.models.commands import Command, Commands, one_of, several, together
from labkit.conformance.models.game import Game
from labkit.conformance.models.rules import Differs, RuleError, Rules
from labkit.conformance.models.search import Findings, Model, search
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.user.roles.checks import model as of_roles
from labkit.conformance.user.roles.roles import Roles
from labkit.conformance.verdict import Verdict
from labkit.core.errors import SettingsError
from labkit.fleet.channel import NoAnswerError
from labkit.fleet.flow import LabAddress
from labkit.reporting.matrix import rows
from labkit.settings import load as load_settings
from tests.reporting.books import small
from tests.sizes import size

MODELS = [each for each in all_checks() if each.model is not None and each.name != "restart/model"]
MUST, OTHER, CHOICE = "DEV-ALIAS-1", "DEV-READ-1", "DEV-KEEP-3"


class Counter(Game):
    """A counter whose target forgets values above 3, calls 5 odd, and never answers its name."""

    default = MUST

    def __init__(self, target: Target, rules: Rules) -> None:
        self.rules = rules
        self.count = 0
        self.closed = False

    @classmethod
    def commands(cls) -> st.SearchStrategy[int]:
        return st.integers(0, 9)

    async def end(self) -> None:
        self.rules.holds(OTHER, "end", True, True)

    async def close(self) -> None:
        self.closed = True

    async def play(self, command: int) -> None:
        await asyncio.sleep(0)
        self.count += command
        self.rules.holds(MUST, "count", self.count if self.count <= 3 else 3, self.count)
        self.rules.holds(CHOICE, "is it odd?", command != 5, True)


def model(game: Any = Counter, rules: tuple[str, ...] = (MUST, OTHER, CHOICE, "DEV-READ-2")) -> Model:
    return Model(rules, lambda: game)


@pytest.fixture
def nowhere() -> Target:
    return Target("nowhere", LabAddress("127.0.0.1", 1, ""), {}, load_settings(LAB_YAML))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


async def found(target: Target, game: Any = Counter, steps: int = 150, **options: Any) -> Findings:
    return await search(model(game), target, steps=steps, seconds=20, **options)


async def test_each_rule_differs_once_with_its_shortest_sequence(
    nowhere: Target, catalogue: Catalogue
) -> None:
    """The search closes all of its games, and a verdict names the requirement that differs."""
    games: list[Counter] = []

    class Kept(Counter):
        async def begin(self) -> None:
            games.append(self)

    result = await found(nowhere, Kept)
    assert all(each.closed for each in games)
    assert len(games) > len(result.differences) + 1
    shortest = {each.requirement: each.sequence for each in result.differences}
    assert shortest == {MUST: (4,), CHOICE: (5,)}
    assert result.compared == {MUST, OTHER, CHOICE}
    assert result.steps >= 150
    [story] = [each.story() for each in result.differences if each.requirement == MUST]
    assert story == "shortest sequence:\n1. 4"

    async def play(target: Target) -> Findings:
        return result

    verdict = await runner.run_one(replace(counted(), function=play), nowhere, catalogue)
    assert verdict.outcome == "failed"
    unsaid = "not reached"
    assert verdict.outcomes == {MUST: "failed", OTHER: unsaid, CHOICE: "warned", "DEV-READ-2": unsaid}
    assert [verdict.outcome_of(each) for each in verdict.requirements] == ["failed", unsaid, "warned", unsaid]
    assert verdict.blamed == (MUST, CHOICE)
    assert verdict.reason == f"{MUST}: count"
    assert (verdict.expected, verdict.actual) == ("4", "3")
    assert verdict.exchange.startswith("shortest sequence:\n1. 4\n")
    assert f"{CHOICE}: is it odd?" in verdict.exchange
    assert Verdict.from_dict(verdict.as_dict()) == verdict


async def test_a_model_that_compared_nothing_is_broken(nowhere: Target, catalogue: Catalogue) -> None:
    """For example if the target answers nothing during the whole time of the search."""

    async def play(target: Target) -> Findings:
        return Findings(rules=(MUST, CHOICE), seconds=3.0)

    verdict = await runner.run_one(replace(counted(), function=play), nowhere, catalogue)
    assert (verdict.outcome, verdict.reason) == ("broken", "the model compared nothing within 3 s")


async def test_without_shrinking_the_first_sequence_is_kept(nowhere: Target) -> None:
    result = await found(nowhere, shrink=False)
    assert {each.requirement for each in result.differences} == {MUST, CHOICE}


async def test_one_seed_draws_the_same_sequences(catalogue: Catalogue) -> None:
    drawn: list[list[int]] = [[], []]
    for each in drawn:

        class Listening(Counter):
            async def play(self, command: int, drawn: list[int] = each) -> None:
                drawn.append(command)

        with Lab(3) as lab:
            target = Target("x", lab.address, {}, load_settings(LAB_YAML), lab=lab, seed=3, fresh=True)
            await found(target, Listening)
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) >= 150


async def test_a_search_ends_when_its_time_is_over(nowhere: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Counter):
        async def begin(self) -> None:
            await asyncio.sleep(0.02)

        async def play(self, command: int) -> None: ...

    result = await search(model(Slow, (MUST, OTHER, CHOICE)), nowhere, steps=10**6, seconds=0.3)
    assert result.seconds >= 0.3
    assert result.steps < 10**6
    assert result.differences == []
    monkeypatch.setattr(searching, "SHRINK_TIME", 0.0)
    assert {each.requirement for each in (await found(nowhere)).differences} == {MUST, CHOICE}


async def test_an_error_of_the_model_ends_the_search(nowhere: Target) -> None:
    class Wrong(Counter):
        async def play(self, command: int) -> None:
            raise NameError(command)

    with pytest.raises(NameError):
        await found(nowhere, Wrong)

    class Undeclared(Counter):
        async def play(self, command: int) -> None:
            self.rules.holds("DEV-REC-1", "something", 1, 1)

    with pytest.raises(RuleError, match="does not name DEV-REC-1"):
        await found(nowhere, Undeclared)


async def test_a_closed_connection_breaks_the_default_rule(nowhere: Target) -> None:
    class Broken(Counter):
        async def play(self, command: int) -> None:
            if command == 7:
                raise httpx.RemoteProtocolError("no response", request=httpx.Request("GET", "https://x/path"))

    [difference] = (await found(nowhere, Broken, shrink=True, steps=100)).differences[:1]
    assert (difference.requirement, difference.sequence) == (MUST, (7,))
    assert difference.mismatch.actual == "RemoteProtocolError no response"


def test_for_an_excluded_rule_the_model_follows_the_target() -> None:
    rules = Rules([MUST, CHOICE], without=[CHOICE])
    assert rules.holds(MUST, "this", 1, 1)
    assert not rules.holds(CHOICE, "that", 1, 2)
    with pytest.raises(Differs, match=f"{MUST}: this: expected 2, got 1"):
        rules.holds(MUST, "this", 1, 2)


# ---- commands


class Shop(Game):
    """A game that notes its commands."""

    default = MUST
    command = Commands(name="ab", count=range(1, 3))

    def __init__(self) -> None:
        self.sold: list[object] = []

    @command(count=[5])
    @command(2)
    async def sell(self, name: str, count: int, *, gift: bool = False) -> None:
        self.sold.append((name, count, gift))

    @command(names=several(one_of("x", together("yz", bool)), 2), gift=bool)
    async def close_shop(self, names: tuple[object, ...], gift: bool = True) -> None:
        self.sold.append((names, gift))


async def test_a_command_draws_each_parameter_and_calls_its_method() -> None:
    """Own values go before the usual ones of a name; a parameter without values keeps its default."""
    drawn: list[Command] = []

    @settings(max_examples=200, database=None, derandomize=True)
    @given(Shop.commands())
    def draw(command: Command) -> None:
        drawn.append(command)

    draw()
    sold = [each.arguments for each in drawn if each.method == "sell"]
    assert {tuple(each) for each in sold} == {("name", "count")}
    assert {each["name"] for each in sold} == {"a", "b"}
    assert {each["count"] for each in sold} == {1, 2, 5}
    closed = [each.arguments for each in drawn if each.method == "close_shop"]
    assert {len(each["names"]) for each in closed} == {0, 1, 2}
    assert {"x", ("y", True), ("z", False)} <= {name for each in closed for name in each["names"]}
    assert {each["gift"] for each in closed} == {True, False}
    shop = Shop()
    command = Command("sell", {"name": "a", "count": 2})
    await shop.play(command)
    assert shop.sold == [("a", 2, False)]
    assert repr(command) == "sell(name='a', count=2)"


def test_a_command_counts_as_often_as_it_says() -> None:
    assert len(Shop.commands().branches) == 4


def test_a_parameter_needs_values() -> None:
    with pytest.raises(KeyError, match="unknown"):

        @Commands(name="ab")()
        async def steal(self: Shop, unknown: str) -> None: ...


# ---- verdicts


def counted(game: Any = Counter) -> Check:
    return model_check(" ".join(model().rules), "a counter")(lambda: game)


async def test_a_difference_in_a_choice_only_warns(nowhere: Target, catalogue: Catalogue) -> None:
    class Odd(Counter):
        async def play(self, command: int) -> None:
            self.rules.holds(CHOICE, "is it odd?", command != 5, True)

    verdict = await runner.run_one(counted(Odd), nowhere, catalogue)
    assert (verdict.outcome, verdict.outcome_of(CHOICE), verdict.outcome_of(MUST)) == (
        "warned",
        "warned",
        "not reached",
    )


async def test_an_error_of_a_model_breaks_no_requirement(nowhere: Target, catalogue: Catalogue) -> None:
    class Wrong(Counter):
        async def play(self, command: int) -> None:
            raise NameError("oops")

    verdict = await runner.run_one(counted(Wrong), nowhere, catalogue)
    assert (verdict.outcome, verdict.reason) == ("broken", "NameError: oops")
    assert {verdict.outcome_of(each) for each in verdict.requirements} == {"not reached"}


async def test_a_value_that_a_model_cannot_read_breaks_the_default_rule(
    nowhere: Target, catalogue: Catalogue
) -> None:
    class Reading(Counter):
        async def play(self, command: int) -> None:
            if command == 7:
                raise ValueError("year 58866 is out of range")

    verdict = await runner.run_one(counted(Reading), nowhere, catalogue)
    assert (verdict.outcome, verdict.blamed) == ("failed", (MUST,))
    assert verdict.actual == "ValueError: year 58866 is out of range"
    assert verdict.exchange == "shortest sequence:\n1. 7"


def test_the_matrix_shows_each_requirement_its_own_outcome() -> None:
    whole = small()
    [one, two, _] = whole
    outcomes: dict[str, Any] = {"AA-ONE-1": "failed", "AA-ONE-2": "passed"}
    verdict = Verdict("one/second", ("AA-ONE-1", "AA-ONE-2"), "both", "failed", outcomes=outcomes)
    shown = {row.id: row.state for row in rows(whole, [verdict])}
    assert (shown[one.id], shown[two.id]) == ("failed", "passed")


# ---- the models themselves, on a lab


@pytest.fixture(scope="module")
def local() -> Iterator[Target]:
    with Lab(2, config=LAB_YAML) as lab:
        yield Target.local(lab, 2)


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Target]:
    with Lab(2, config=LAB_YAML, data=tmp_path / "lab.db") as lab:
        yield Target.local(lab, 2)


@pytest.mark.timeout(size(300, 7200))
async def test_restarts_lose_nothing_of_what_is_stored(durable: Target) -> None:
    await agrees(restarts, durable, size(25, 20_000))


async def test_a_game_may_begin_after_a_restart(durable: Target) -> None:
    """For devices that are new since then, too, datapoints count on from a higher number."""
    rules = Rules(restarts.requirements)
    async with durable.scope():
        for _ in range(2):  # the second time nothing is restarted, but the lab has been
            game = Restarts(durable, rules)
            await game.begin()
            if not rules.compared:
                await game.restart()
            await game.one(
                "write/model", Command("write", {"index": 0, "pairs": [("text", "a")], "aliases": ()})
            )
            await game.end()
            await game.close()
    assert "DEV-EVT-6" in rules.compared


@pytest.mark.timeout(size(300, 7200))
@pytest.mark.parametrize("each", MODELS, ids=lambda each: each.name)
async def test_a_model_agrees_with_a_lab(each: Check, local: Target) -> None:
    await agrees(each, local, size(50, 100_000))


async def agrees(each: Check, target: Target, steps: int) -> None:
    assert each.model is not None
    async with target.scope():
        result = await search(each.model, target, steps=steps, seconds=size(120, 7000))
    assert (
        "\n\n".join(f"{known.requirement}: {known.mismatch}\n{known.story()}" for known in result.differences)
        == ""
    )
    if result.steps >= 10_000:  # rare combinations occur in long runs only
        assert set(each.model.rules) == result.compared


async def test_roles_games_have_the_same_user_ids_in_both_solutions(local: Target) -> None:
    """However many users one of them had before, so that a role assigned to the wrong tenant's user shows."""
    async with local.scope():
        for solution in (0, 1, 1):
            calls = Calls(local, Rules(["USR-ROLE-11"]), "USR-ROLE-11", Roles.solutions)
            for _ in range(2):
                person = {
                    "email": f"{local.identity()}@example.com",
                    "name": "Ann",
                    "password": "correct horse",
                }
                calls.add(solution, "User.createUser", person)
            await calls.send()
            game = Roles(local, Rules(of_roles.requirements))
            await game.begin()
            await game.close()
            one, other = game.users
            assert one == other


# ---- number of steps


def test_the_environment_sets_the_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def played() -> tuple[int, int]:
        return checking.model_steps("write/model"), checking.model_steps("restart/model", 40)

    monkeypatch.delenv(checking.STEPS_VARIABLE, raising=False)
    assert played() == (checking.STEPS, 40)
    for text, wanted in (
        ("100000", (100_000, 100_000)),
        ("write/model=100000", (100_000, 40)),
        ("7, restart/model=8", (7, 8)),
        ("roles/model=9", (checking.STEPS, 40)),
    ):
        monkeypatch.setenv(checking.STEPS_VARIABLE, text)
        assert played() == wanted
    assert checking.model_seconds(checking.STEPS) == checking.model_seconds(40) == checking.SECONDS
    assert checking.model_seconds(100_000) >= 100_000  # on a busy machine a step takes long
    for wrong in ("", "0", "-1", "many", "1e5", str(10**9), "write/model=", "write/model", "write/model=5,"):
        monkeypatch.setenv(checking.STEPS_VARIABLE, wrong)
        with pytest.raises(SettingsError, match=f"{checking.STEPS_VARIABLE}: expected a number"):
            played()
    monkeypatch.setenv(checking.STEPS_VARIABLE, "writes/model=5")
    with pytest.raises(SettingsError, match="no model check 'writes/model', there are: content/model, "):
        played()


async def test_pruning_removes_all_commands_that_the_difference_does_not_need(
    nowhere: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SHRINK_TIME", 0.0)  # so that Hypothesis leaves all commands in
    result = await found(nowhere)
    assert all(len(each.sequence) <= 4 for each in result.differences)  # four times 1 is more than 3


async def test_a_failing_script_breaks_the_default_rule(nowhere: Target) -> None:
    class Broken(Counter):
        async def play(self, command: int) -> None:
            raise NoAnswerError("cut", "")

    [difference] = (await found(nowhere, Broken, steps=30)).differences[:1]
    assert difference.requirement == MUST
    assert len(difference.sequence) == 1
