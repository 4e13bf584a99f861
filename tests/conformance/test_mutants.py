"""The proof of the checks: every mutant is noticed (test_coverage.py demands enough mutants)."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterable, Iterator
from inspect import Parameter, signature
from types import FunctionType, ModuleType
from typing import Any

import pytest

from labkit.conformance import breaking
from labkit.conformance.check import all_checks
from labkit.conformance.device.write import mutants as write_mutants
from labkit.conformance.fork_server import Ended, ForkServer, Message
from labkit.conformance.mutant import SMOKE, Mutant, Patch, Row, all_patches, mutant
from labkit.conformance.rows import all_mutants
from labkit.conformance.target import Target, open_target
from labkit.conformance.verdict import Outcome, Verdict
from labkit.device_api import api, wire
from labkit.reporting.verdicts import read_verdicts
from tests.conformance import mutation, warm
from tests.conformance.mutation import attempt, run_shared, try_all
from tests.conformance.trial import Trial, judge
from tests.played import all_played, trials_of

MUTANTS = all_mutants()
PATCHES = all_patches()
ROWS = [each for each in MUTANTS if isinstance(each, Row)]


def key_of(mutant: Mutant) -> str:
    """Return the part of a patch, or the area of a row."""
    return (
        mutant.requirements[0].partition("-")[0] if isinstance(mutant, Row) else mutant.name.partition("/")[0]
    )


def grouped(mutants: Iterable[Mutant]) -> Iterator[Any]:
    """Return a test parameter for each group of mutants, named after it."""
    by: dict[str, list[Mutant]] = {}
    for each in mutants:
        by.setdefault(key_of(each), []).append(each)
    return (pytest.param(together, id=key) for key, together in by.items())


pytestmark = pytest.mark.xdist_group("forked")


@pytest.fixture(scope="module")
def trials(request: pytest.FixtureRequest, server: ForkServer) -> dict[str, list[Trial]]:
    """The trials of all mutants that this session has tests for, by name."""
    found: dict[str, list[Trial]] = {}
    for each in trials_of(request.session, server):
        found.setdefault(each.mutant, []).append(each)
    return found


@pytest.mark.sampled
@pytest.mark.timeout(600)  # the first test waits until all mutants have run
@pytest.mark.parametrize(
    "mine",
    [*grouped(ROWS), *grouped(PATCHES)],
)
def test_every_mutant_is_noticed(mine: list[Mutant], trials: dict[str, list[Trial]]) -> None:
    assert mine != []
    for each in mine:
        assert [trial for trial in trials[each.name] if not trial.killed] == []
        assert len(trials[each.name]) == 1


def test_every_smoke_check_exists_and_must_pass() -> None:
    checks = {each.name: each for each in all_checks()}
    assert SMOKE in checks
    for each in MUTANTS:
        assert not set(checks[each.smoke].requirements) & set(each.requirements), each.name


def test_mutants_patch_only_public_functions_and_methods() -> None:
    """So that moving a private helper breaks no mutant; constructors and `__call__` belong to a class' interface."""
    private = {
        each.patches
        for each in PATCHES
        if any(re.match(r"_(?!_\w+__$)", name) for name in re.split("[.:]", each.patches))
    }
    assert private == set()


def test_a_replacement_accepts_the_arguments_of_the_original() -> None:
    """Otherwise the checks would notice the error of the call, not the fault."""
    wrong = []
    for each in PATCHES:
        original = mutation.original_of(each)
        broken = _called(each.replace(original))
        given = [
            parameter
            for parameter in signature(_called(original)).parameters.values()
            if parameter.default is Parameter.empty
        ]
        named = {each.name: None for each in given if each.kind is Parameter.KEYWORD_ONLY}
        count = sum(
            each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for each in given
        )
        if not isinstance(broken, type):  # some of Python's own functions have no signature
            try:
                signature(broken).bind(*[None] * count, **named)
            except TypeError as error:
                wrong.append(f"{each.name}: {error}")
    assert wrong == []


def _called(function: Any) -> Any:
    """Return the function that a call of a method or a property runs."""
    return function.fget if isinstance(function, property) else getattr(function, "__func__", function)


# ---- a mutant and its trial


def one(requirements: str, patches: str = "labkit.nothing:at_all") -> Patch:
    def fault(original: Any) -> Any:
        """something goes wrong"""
        return lambda *args: f"broken {original(*args)}"

    return mutant(requirements, patches)(fault)


def verdict(check: str, requirements: str, outcome: Outcome) -> Verdict:
    return Verdict(check, tuple(requirements.split()), "a check", outcome)


def test_a_mutant_is_named_after_its_file_and_function() -> None:
    assert one("X-Y-1 X-Y-2").name == "test-mutants/fault"
    assert one("X-Y-1 X-Y-2").requirements == ("X-Y-1", "X-Y-2")
    assert one("X-Y-1").title == "something goes wrong"


PASSED = verdict(SMOKE, "X-Z-1", "passed")


@pytest.mark.parametrize("outcome", ["failed", "warned"])
def test_a_mutant_is_killed_by_one_check_of_each_requirement(outcome: Outcome) -> None:
    fell = [verdict("a/a", "X-Y-1", outcome), verdict("a/b", "X-Y-2", outcome)]
    stood = verdict("a/c", "X-Y-1", "passed")
    assert judge(one("X-Y-1 X-Y-2"), [*fell, stood, PASSED]).killed
    trial = judge(one("X-Y-1 X-Y-2"), [fell[0], stood, PASSED])
    assert (trial.killed, trial.survived) == (False, ("X-Y-2",))


@pytest.mark.parametrize("outcome", ["passed", "skipped", "broken"])
def test_a_mutant_survives_checks_that_do_not_fail(outcome: Outcome) -> None:
    trial = judge(one("X-Y-1"), [verdict("a/a", "X-Y-1", outcome), PASSED])
    assert (trial.killed, trial.survived) == (False, ("X-Y-1",))


@pytest.mark.parametrize("outcome", ["failed", "warned", "skipped", "broken"])
def test_a_mutant_that_breaks_everything_is_not_killed(outcome: Outcome) -> None:
    fell = verdict("a/a", "X-Y-1", "failed")
    assert judge(one("X-Y-1"), [fell, PASSED]).killed
    assert not judge(one("X-Y-1"), [fell, verdict(SMOKE, "X-Z-1", outcome)]).killed
    assert not judge(one("X-Y-1"), [fell]).killed


def test_a_mutant_is_not_killed_if_a_check_is_broken() -> None:
    fell, broke = verdict("a/a", "X-Y-1", "failed"), verdict("a/b", "X-Y-1", "broken")
    assert not judge(one("X-Y-1"), [fell, broke, PASSED]).killed


def test_a_mutant_that_cannot_be_applied_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(patch: Patch, there: object) -> Trial:
        raise AttributeError("nothing there")

    monkeypatch.setattr(mutation, "run_patch", fail)
    reported: list[Any] = []
    attempt({"mutants": [PATCHES[0].name], "checks": [], "alone": True}, reported.append)
    [trial] = [Trial.from_dict(each["trial"]) for each in reported]
    assert (trial.killed, trial.survived) == (False, PATCHES[0].requirements)
    assert trial.broken == ("no trial: AttributeError: nothing there",)


class Ending(ForkServer):
    """Processes that all end before they send a message."""

    def __init__(self) -> None:
        pass

    def run(self, function: str, arguments: Iterable[Any], **options: Any) -> Iterator[Any]:
        yield from (Ended(each, "signal SIGSEGV", "first\nlast") for each in arguments)


def test_a_mutant_that_kills_its_process_is_not_killed() -> None:
    trials = list(try_all([PATCHES[0], *ROWS[:2]], 2, Ending()))
    assert [(each.killed, each.broken) for each in trials] == [
        (False, ("no trial: signal SIGSEGV: last",))
    ] * 3


@pytest.mark.timeout(600)
def test_without_a_fault_no_check_fails(request: pytest.FixtureRequest, server: ForkServer) -> None:
    """The control: neither the fork nor the prepared lab makes a check fail that notices a mutant.

    Each process has the lab that was prepared before the fork, as mutants have.
    """
    verdicts = read_verdicts(all_played(request.session, server))
    assert [each for each in verdicts if each.outcome != "passed"] == []
    assert {each.check for each in verdicts} == {each.name for each in all_checks()}


# ---- rows, and errors of a patch's own


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with open_target(seed=1) as target:
        yield target


def row(requirements: str, **fault: Any) -> Row:
    return Row("test/row", tuple(requirements.split()), "something goes wrong", SMOKE, fault)


ALIAS = "* /onep:v1/stack/alias"


def test_a_row_is_noticed_and_its_fault_removed(target: Target) -> None:
    [trial], _ = run_shared(
        [row("DEV-AUTH-10", where=ALIAS, if_status=401, drop="@WWW-Authenticate")], target
    )
    assert (trial.killed, trial.noticed) == (True, ("authentication/challenge",))
    assert len(target.lab.faults) == 0


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        ({"where": "GET /nowhere", "status": 500}, "its fault was never hit"),
        ({"where": ALIAS, "product": "nowhere", "status": 500}, "no trial: .*'nowhere'"),
        ({"where": "POST /provision/activate", "status": 500}, "set-up"),
    ],
)
def test_a_row_that_proves_nothing_is_broken(target: Target, fault: dict[str, Any], broken: str) -> None:
    [trial], _ = run_shared([row("DEV-AUTH-7", **fault)], target)
    assert not trial.killed
    assert re.search(broken, trial.broken[0])
    assert len(target.lab.faults) == 0


def test_a_row_that_damages_the_lab_is_broken(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks that notice a row must pass afterwards without it."""
    rows = [row("DEV-AUTH-10", where=ALIAS, if_status=401, drop="@WWW-Authenticate")]
    monkeypatch.setattr(
        target.lab.faults.__class__, "clear", lambda self: None
    )  # as a lasting effect would do
    [trial], _ = run_shared(rows, target)
    monkeypatch.undo()
    target.lab.faults.clear()
    assert not trial.killed
    assert trial.broken[0].startswith("authentication/challenge: also without the fault: ")


@pytest.mark.parametrize(
    ("patches", "requirements", "where"),
    [
        ("labkit.device_api.timestamp:timestamp", "DEV-TIME-1", "test_mutants.py"),
        ("labkit.services.keystore.service:Keystore.delete_keys", "KEY-DEL-1", "test_mutants.py"),
        (breaking.CALL, "KEY-DEL-1", "breaking.py"),  # what patches share
    ],
)
def test_an_error_that_a_patch_raises_by_mistake_is_no_proof(
    patches: str, requirements: str, where: str, server: ForkServer
) -> None:
    [said, _] = server.run(f"{__name__}:play_wrong", [[requirements, patches]])
    assert isinstance(said, Message)
    trial = Trial.from_dict(said.message)
    assert not trial.killed
    assert re.match(rf"{where}:\d+ in broken: .*TypeError", trial.broken[0])


def play_wrong(arguments: list[str], send: Any) -> None:
    """Run a patch with a mistake, in a process of its own."""
    requirements, patches = arguments

    def wrong(original: Any) -> Any:
        """adds a number to a text, or changes what is given by a function that takes nothing"""

        if patches == breaking.CALL:
            nothing: Any = lambda: None  # noqa: E731
            return breaking.wrap(original, breaking.change_arguments(parameters=nothing))

        def broken(*args: Any, **options: Any) -> Any:
            return "1" + len(args)  # type: ignore[operator]

        return broken

    vars(mutation)["OWN_FILES"] = (*mutation.OWN_FILES, "test_mutants")
    send(mutation.run_patch(mutant(requirements, patches)(wrong), warm.take()).as_dict())


# ---- replacement of functions


class Thing:
    def speak(self) -> str:
        return "well"


def plain() -> str:
    return "well"


@pytest.fixture
def thawed() -> Iterator[None]:
    """Unfreeze the objects imported during collection (conftest.py), so that they are searched too."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def modules(thawed: None) -> Iterator[tuple[ModuleType, ModuleType, ModuleType]]:
    """Modules: one defines a function and a class, one imports the function, one belongs to a mutant."""
    names = ("labkit_broken", "labkit_user", "labkit.conformance.labkit_mutant")
    made = [ModuleType(name) for name in names]
    original = FunctionType(plain.__code__, plain.__globals__)
    for module in made:
        sys.modules[module.__name__] = module
        vars(module)["function"] = original
    vars(made[0])["Thing"] = type("Thing", (Thing,), {"speak": lambda self: "well"})
    vars(made[1])["table"] = {"GET": {"/": original}}
    yield made[0], made[1], made[2]
    for module in made:
        del sys.modules[module.__name__]


def test_a_function_is_replaced_wherever_it_is_referenced(modules: Any) -> None:
    defines, imports, mutates = modules
    with mutation.applied(one("X-Y-1", "labkit_broken:function")):
        assert defines.function() == "broken well"
        assert imports.function() == "broken well"
        assert imports.table["GET"]["/"]() == "broken well"
        assert mutates.function() == "well"
    for each in (defines.function, imports.function, imports.table["GET"]["/"]):
        assert each() == "well"


@pytest.mark.usefixtures("thawed")
def test_references_to_functions_are_known_for_all_mutants() -> None:
    found = [id(each) for each in mutation.holders_of_patched()[id(wire.nothing)]]
    assert {id(vars(wire)), id(vars(api))} <= {*found}
    assert id(vars(write_mutants)) not in found


def test_a_method_is_replaced(modules: Any) -> None:
    with mutation.applied(one("X-Y-1", "labkit_broken:Thing.speak")):
        assert modules[0].Thing().speak() == "broken well"
    assert modules[0].Thing().speak() == "well"


@pytest.mark.parametrize(
    "patches", ["labkit_nowhere:function", "labkit_broken:nothing", "labkit_broken:Thing.sing"]
)
def test_an_unknown_function_cannot_be_replaced(modules: Any, patches: str) -> None:
    with pytest.raises((ImportError, KeyError)):
        mutation.applied(one("X-Y-1", patches)).__enter__()
