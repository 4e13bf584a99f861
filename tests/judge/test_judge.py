"""The mutation tool: code that it leaves out, its sample, and its verdicts."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from types import FunctionType
from typing import Any

import pytest

pytest.importorskip("cosmic_ray", reason="needs cosmic-ray: make .venv/.has-judge")

from click.testing import CliRunner

from labkit.conformance.check import all_checks
from labkit.conformance.fork_server import Ended, ForkServer, Message
from labkit.core.errors import LabkitError
from tests.judge import play
from tests.judge.__main__ import main, table
from tests.judge.equivalents import equivalents, outdated
from tests.judge.left_out import left_out
from tests.judge.lines import MIN_LIMIT, Lines, recorded
from tests.judge.mutations import (
    FOLDERS,
    LEFT_OUT,
    Mutation,
    drawn,
    home,
    modules_of,
    mutations_by,
    mutations_of,
    source_of,
)
from tests.judge.pieces import normalized
from tests.judge.play import IMPORT, START
from tests.judge.trials import Trial, figures, judged, outcome, try_all

pytestmark = pytest.mark.xdist_group("forked")
FORMS = "device_api/forms.py"
MANY = 5


def one(**changes: Any) -> Mutation:
    mutation = mutations_of(FORMS)[0]
    return replace(mutation, **changes)


# ---- code that is left out


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: int | None, *b: int | str, c: int | str = x) -> int | None: ...",
        "value: int | None",
        "class C:\n    value: int | None = x",
        "@decorated(1 + 2)\ndef f(): ...",
        "@decorated(1 + 2)\nclass C: ...",
        "if TYPE_CHECKING:\n    count = 1 + 2",
        "if typing.TYPE_CHECKING:\n    count = 1 + 2",
        "__all__ = ['a'] + ['b']",
        "Text = str | bytes | None",
        "Table = Mapping[str, int | None]",
        "Table: TypeAlias = 'int' | None",
        "value = cast(int | None, x)",
        "T = TypeVar('T', bound=int | str)",
        "@overload\ndef f(a: int, *, b: int = 1 + 2) -> int: ...",
        '"""1 + 2"""',
        "Column('name', String, nullable=False, index=True)",
        "sqlalchemy.Column('secret', String, info={'secret': True, 'of': 1 + 2})",
    ],
)
def test_code_for_readers_and_type_checkers_is_left_out(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(source, monkeypatch) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: int = 1 + 2): ...",
        "value: int | None = 1 + 2",
        "LIMITS = FIRST | SECOND",
        "Limits = 1 + 2",
        "if CHECKING:\n    count = 1",
        "value = cast(int, 1 + 2)",
        "é = 'é' + 'é'",
        "Column('name', String, nullable=True)",
        "Column('name', Boolean, default=False)",
        "Column('name', String, unique=True)",
        "Row('name', nullable=False)",
    ],
)
def test_serving_code_is_not_left_out(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(source.splitlines()) in {each.at[0] for each in found(source, monkeypatch)}


def found(source: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Mutation, ...] | list[Mutation]:
    monkeypatch.setattr("tests.judge.mutations.source_of", lambda module: source)
    mutations_by.cache_clear()
    found = [*mutations_of.__wrapped__("a.py")]
    mutations_by.cache_clear()
    return found


def test_columns_count_characters() -> None:
    [span] = left_out("value = 'ä€𝄞', cast(int | str, x)")
    assert (span.start, span.end) == ((1, 20), (1, 29))


# ---- the sample


def test_the_sample_has_each_place_once_and_follows_the_seed() -> None:
    modules = [FORMS, "device_api/alias.py"]
    assert {*modules} <= {*modules_of("device_api")}
    first = [each.id for each in drawn(modules, 1)]
    assert first == [each.id for each in drawn(modules, 1)]
    assert first != [each.id for each in drawn(modules, 2)]
    places = [(each.module, each.at) for each in drawn(modules, 1)]
    assert len(places) == len({*places}) == len({*first})
    assert {*places} == {(each.module, each.at) for module in modules for each in mutations_of(module)}


def test_a_mutations_id_does_not_depend_on_lines_and_formatting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = found("def f(a, b):\n    return g(a == 'é', b + 1)\n", monkeypatch)
    after = found(
        dedent("""\
            c = -5

            def f(a, b):
                if a and b:
                    print("new")
                return g(
                    a == "é",  # why
                    (b
                     + 1),
                )
            """),
        monkeypatch,
    )
    assert len(before) > 10
    assert {each.id for each in before} < {each.id for each in after}
    moved = found("def other(a, b):\n    return g(a == 'é', b + 1)\n", monkeypatch)
    assert {each.id for each in before}.isdisjoint(each.id for each in moved)


@pytest.mark.parametrize(
    ("source", "operator", "pieces"),
    [
        ("value = f(a, 2, b + 1)", "NumberReplacer", ["f(a, 2, b + 1)"] * 2 + ["b + 1"] * 2),
        ("log('text', status=500)", "NumberReplacer", ["status = 500"] * 2),
        ("limit: int = 5", "NumberReplacer", ["limit: int = 5"] * 2),
        ("def f(limit=5): ...", "NumberReplacer", ["5"] * 2),
        ("text = f'{a[1]} {b}'", "NumberReplacer", ["f'{a[1]} {b}'"] * 2),
        ("first = rows[:1]", "NumberReplacer", ["rows[:1]"] * 2),
        ("while True:\n    break", "ReplaceTrueWithFalse", ["True"]),
        ("while True:\n    break", "ReplaceBreakWithContinue", ["break"]),
        ("for a in rows: ...", "ZeroIterationForLoop", ["rows"]),
        ("if (a or b): ...", "AddNot", ["a or b"]),
        ("if a < 1 and b: ...", "AddNot", ["a < 1 and b"]),
        ("try: ...\nexcept OSError: ...", "ExceptionReplacer", ["OSError"]),
        ("try: ...\nexcept (OSError, ValueError): ...", "ExceptionReplacer", ["(OSError, ValueError)"] * 2),
        ("found = [a for a in rows if not a]", "ReplaceUnaryOperator_Delete_Not", ["not a"]),
    ],
)
def test_a_mutation_has_the_smallest_piece_that_it_changes(
    source: str, operator: str, pieces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [each.key for each in found(source, monkeypatch) if each.operator == operator]
    assert [key.code for key in keys] == [normalized(each) for each in pieces]
    assert len({*keys}) == len(keys)  # equal pieces are numbered


def test_a_mutation_has_its_statement_and_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    source = dedent("""\
        class C:
            limit = 1 + 2

            @decorated
            def method(self):
                if (
                    self.limit
                    > 5
                ):
                    return [
                        2 + 3
                    ]
        """)
    mutations = {each.at[0]: each for each in found(source, monkeypatch)}
    assert mutations[2].function is None
    assert mutations[8].lines == (6, 7, 8, 9)
    assert mutations[11].lines == (10, 11, 12)
    function = mutations[11].function
    assert function is not None
    assert (function.name, function.line, function.body) == ("C.method", 4, range(6, 13))


def test_folders_that_are_left_out_exist_and_have_a_reason() -> None:
    there = [each for folder in FOLDERS for each in modules_of(folder)]
    for path, reason in LEFT_OUT.items():
        assert (home() / path).exists()
        assert reason
        assert [each for each in there if each.startswith(path)] == []
    for folder in ("core", "edge", "providers"):
        assert len(modules_of(folder)) > 10


def test_each_equivalent_is_a_mutation_and_has_a_reason() -> None:
    assert outdated() == []
    assert [key for key, reason in equivalents().items() if not reason.endswith(".")] == []


def test_an_equivalent_whose_code_has_changed_is_outdated(monkeypatch: pytest.MonkeyPatch) -> None:
    key = next(each for each in equivalents() if each.nth == 0)
    changed = [key._replace(code="other + 1"), key._replace(function="other"), key._replace(nth=99)]
    monkeypatch.setattr("tests.judge.equivalents.equivalents", lambda: dict.fromkeys([key, *changed], "."))
    assert outdated() == changed


# ---- the checks that run


LINES = Lines(
    {"a": 1.0, "b": 0.1, "c": 0.1, "d": 0.1, "model": 1.0},
    ["model"],
    {
        FORMS: {"1": ["a", "b", "model"], "2": ["b"], "3": [START], "4": [START, "c"]},
        "device_api/wire.py": {"1": ["a", "b", "c"], "2": ["b"]},
        "device_api/api.py": {"1": ["d"]},
    },
)


def test_checks_that_run_the_line_are_selected() -> None:
    assert [name for name, _ in LINES.checks_for(one(lines=(1,)))] == ["b", "a", "model"]
    assert [name for name, _ in LINES.checks_for(one(lines=(1, 2)))] == ["b", "a", "model"]
    assert LINES.checks_for(one(lines=(2,))) == [("b", MIN_LIMIT)]
    assert LINES.checks_for(one(lines=(9,))) == []


def test_for_code_that_runs_before_the_checks_all_checks_are_selected() -> None:
    assert [name for name, _ in LINES.checks_for(one(lines=(3,)))] == ["b", "c", "a", "d"]
    assert next(name for name, _ in LINES.checks_for(one(lines=(4,)))) == "c"


def test_a_function_that_runs_at_the_start_needs_a_new_import() -> None:
    function = mutations_of(FORMS)[0].function
    assert function is not None
    assert LINES.is_later(one(function=replace(function, body=range(1, 3))), START)
    assert not LINES.is_later(one(function=replace(function, body=range(1, 4))), START)
    assert LINES.is_later(one(function=replace(function, body=range(1, 4))), IMPORT)
    assert not LINES.is_later(one(function=None), IMPORT)


# ---- outcome of a trial


@pytest.mark.parametrize(
    ("messages", "error", "expected"),
    [
        ([{"check": "a", "outcome": "failed", "reason": "x"}], "", "killed"),
        ([{"check": "a", "outcome": "warned", "reason": "x"}], "", "warned"),
        ([{"check": "a", "outcome": "broken", "reason": "x"}], "", "broken"),
        ([{"check": "a", "outcome": each, "reason": "x"} for each in ("broken", "warned")], "", "warned"),
        ([{"check": "a", "outcome": each, "reason": "x"} for each in ("warned", "failed")], "", "killed"),
        ([{"check": "a", "outcome": "not reached", "reason": "x"}], "", "survived"),
        ([{"check": "a", "outcome": "warned", "reason": "x"}, {"began": "b"}], "signal SIGALRM", "timeout"),
        ([{"check": "a", "outcome": "warned", "reason": "x"}], "signal SIGSEGV", "warned"),
        ([{"check": "a", "outcome": "passed", "reason": ""}], "", "survived"),
        ([{"check": "a", "outcome": "skipped", "reason": "x"}], "", "survived"),
        ([{"began": "a"}], "signal SIGALRM", "timeout"),
        ([{"began": "a"}], "signal SIGSEGV", "broken"),
        ([{"incompetent": "SyntaxError: x"}], "", "incompetent"),
    ],
)
def test_the_outcome_of_a_trial(messages: list[dict[str, Any]], error: str, expected: str) -> None:
    assert outcome(one(), messages, Ended({}, error)).outcome == expected


def test_figures_do_not_count_equivalent_mutants_and_failed_imports() -> None:
    outcomes = ["killed", "killed", "timeout", "warned", "broken", "survived", "equivalent", "incompetent"]
    row = figures("device_api", [Trial(one(), each) for each in outcomes])  # type: ignore[arg-type]
    assert (row.mutants, row.killed, row.timeouts, row.equivalent, row.survivors) == (7, 2, 1, 1, 1)
    assert (row.warned, row.broken) == (1, 1)
    assert row.percent == 50.0
    assert table([row]).splitlines()[1].split() == ["device_api", *"721111", "1", "50.0"]
    assert row.as_dict()["percent"] == 50.0


# ---- changes of a function in place


def test_a_function_is_changed_wherever_it_is_referenced(tmp_path: Path) -> None:
    source = "def outer(n):\n    def inner():\n        return n + 1\n    return inner()\n"
    path = tmp_path / "held.py"
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    held: list[FunctionType] = [names["outer"]]
    assert not play.changed(str(path), source.replace("+", "-"), "nothing", 1)
    assert play.changed(str(path), source.replace("+", "-"), "outer", 1)
    assert held[0](5) == 4


# ---- a small sample


@pytest.fixture(scope="module")
def lines(server: ForkServer) -> Lines:
    return recorded(CHECKS, server)


CHECKS = [each for each in all_checks() if each.name.startswith("write/") and each.model is None][:6]


class Harmless(Mutation):
    """Mutation that no client can notice."""

    def mutated(self) -> str:
        tree = ast.parse(source_of(self.module))
        return f"{ast.unparse(tree)}\nNOBODY_ASKS = 1\n"


@pytest.mark.sampled
def test_a_small_sample_is_judged_and_a_harmless_mutant_survives(server: ForkServer, lines: Lines) -> None:
    """Some of the sample may survive the few checks that run here, most of which fail or cannot be set up."""
    trials = judged(drawn([FORMS], 1), MANY, lines, server, processes=2)
    outcomes = Counter(each.outcome for each in trials)
    seen = [each for each in trials if each.outcome in ("killed", "broken")]
    assert len(seen) >= MANY / 2
    assert len(seen) + outcomes["survived"] == MANY
    assert {each.by for each in seen} <= {each.name for each in CHECKS}
    later = next(each.mutation for each in seen if lines.is_later(each.mutation, START))
    harmless = Harmless(
        **{name: getattr(later, name) for name in Mutation.__slots__} | {"key": later.key._replace(nth=99)}
    )
    anew = replace(later, function=None)  # imported anew, while the others are changed in place
    trials = list(try_all([anew, harmless], lines, server, processes=2))
    noticed, survived = sorted(trials, key=lambda each: each.outcome)
    assert noticed.mutation == anew
    assert noticed.outcome in ("killed", "broken")
    assert (survived.outcome, survived.why) == ("survived", f"{len(lines.checks_for(later))} checks passed")


def test_a_mutant_of_a_line_that_no_check_runs_survives_without_a_trial(lines: Lines) -> None:
    [trial] = try_all([one(lines=(10_000,))], lines, Silent([]))
    assert (trial.outcome, trial.why) == ("survived", "no check runs it, and no import or start of a lab")


class Silent(ForkServer):
    """Stub of a fork server that sends given messages, without a process."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages

    def run(self, function: str, arguments: Iterable[Any], **others: Any) -> Iterator[Any]:
        for argument in arguments:
            yield from (Message(argument, each) for each in self.messages)
            yield Ended(argument)


@pytest.mark.parametrize("outcome", ["failed", "warned", "broken"])
def test_no_mutant_is_judged_if_the_checks_fail_without_one(outcome: str) -> None:
    messages = {"check": CHECKS[0].name, "outcome": outcome, "reason": "odd", "seconds": 1.0}
    with pytest.raises(LabkitError, match=f"do not pass on what is not mutated: .*: {outcome}: odd"):
        recorded(CHECKS[:1], Silent([messages]))


def test_the_record_is_reused_until_a_source_changes(tmp_path: Path) -> None:
    messages = {"check": CHECKS[0].name, "outcome": "passed", "reason": "", "seconds": 1.5}
    keep = tmp_path / "new" / "lines.json"
    first = recorded(CHECKS[:1], Silent([messages]), keep)
    assert first.seconds == {CHECKS[0].name: 1.5}
    assert recorded(CHECKS[:1], Silent([]), keep) == first
    kept = json.loads(keep.read_text())
    keep.write_text(json.dumps({**kept, "files": {CHECKS[0].name: "of another source"}}))
    assert recorded(CHECKS[:1], Silent([{**messages, "seconds": 2.5}]), keep).seconds == {CHECKS[0].name: 2.5}
    keep.write_text(json.dumps({**kept, "digest": "of other sources"}))
    assert recorded(CHECKS[:1], Silent([{**messages, "seconds": 3.5}]), keep).seconds == {CHECKS[0].name: 3.5}


def test_the_help_of_the_command() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    for name in ("--folder", "--sample", "--seed", "--only", "--json"):
        assert name in text
