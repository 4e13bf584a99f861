"""Progress of calls that last, drawn by the thread that waits, and interrupts that say what was done."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from labkit import Lab
from labkit.core import progress
from labkit.hunt import Draw, hunt, story, sweep
from labkit.hunt.search.determinism import play_twice
from labkit.reporting.notebook import verdicts
from labkit.reporting.run_notebook import code_cells, run_notebook
from tests.guard import PATIENCE
from tests.lab.story_parts import Reports, product_of
from tests.reporting.books import written
from tests.rig import invoked

AT_ONCE = "from labkit.core import progress\nprogress.PATIENCE = 0\n"  # so that each wait draws
RUN = "Fleet.run: ["
# It moves before the measure has said anything, and then shows what that says.
BENCH = r"labkit bench: \[\.+\] 0%, 0 of 1 measure, \d(?s:.*) 0 of 1 measure, polls: "
CELL = """from labkit import Lab, Thermostat
lab = Lab(seed=7)
fleet = lab.product("t", resources={"temperature": "number"}).fleet(2, Thermostat())"""


class Drawn(list[str]):
    """A screen: the lines that were drawn, and an empty one for each end."""

    def draw(self, text: str) -> None:
        self.append(text)

    def close(self) -> None:
        self.append("")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Screen of all progress, which each wait draws."""
    made = Drawn()
    monkeypatch.setattr(progress, "screen", lambda wanted: None if wanted is False else made)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    return made


@story
def told(lab: Lab, draw: Draw) -> int:
    product_of(lab).fleet(1, Reports).run(minutes=1)
    return draw.number(1, 9)


def lua_tests(lab: Lab, folder: Path) -> object:
    (folder / "tests").mkdir()
    (folder / "tests" / "a.lua").write_text('it("a", function() end)\nit("b", function() end)\n')
    return lab.solution("a", path=folder).test()


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (
            lambda lab, _: product_of(lab).fleet(2, Reports).run(minutes=5),
            r"Fleet.run: \[.* \d+%, 2026-.* of lab time, \d+ requests, ",
        ),
        (lambda lab, _: product_of(lab).fleet(2, Reports).start(minutes=5).wait(), r"Run.wait: \[.* requests"),
        (lambda lab, _: lab.fork(lambda each, value: value, over=[1, 2]), "Lab.fork: .* of 2 futures"),
        (lua_tests, "Solution.test: .* of 2 tests"),
        (lambda *_: hunt(told, 2, workers=0, level="calm"), "hunt of told: .* of 2 plays"),
        (lambda *_: hunt(told, 2, workers=1, level="calm"), "hunt of told: .* of 2 plays"),
        (lambda *_: sweep(told, 2, workers=0), "sweep of told: .* of 2 plays"),
        (lambda *_: play_twice(told, 1, workers=0), "play_twice of told: .* of 1 seed"),
        (lambda *_: verdicts("DEV", only="DEV-TIME-1"), "verdicts: .* of \\d+ checks"),
        (lambda lab, _: lab.snapshot(), "Lab.snapshot: 2026-.* of lab time, "),
        (lambda lab, folder: lab.restore(lab.save(folder / "a.lab")), r"Lab.save: 2026-(?s:.*)\nLab.restore: 2026-"),
        (lambda *_: invoked("bench", "polls", "--polls", 9), BENCH),
    ],
)  # fmt: skip
def test_a_call_draws_its_progress_and_removes_it(
    lab: Lab, drawn: Drawn, tmp_path: Path, call: Callable[[Lab, Path], object], line: str
) -> None:
    call(lab, tmp_path)
    whole = "\n".join(drawn)
    assert re.search(f"^{line}", whole, re.MULTILINE), whole
    assert not drawn[-1]
    assert progress.Progress.current is None


@pytest.mark.parametrize("in_story", [False, True])
def test_any_wait_draws_the_lab_time(lab: Lab, drawn: Drawn, in_story: bool) -> None:
    async def until_drawn() -> None:
        while not drawn:  # noqa: ASYNC110  another thread draws
            await asyncio.sleep(0.001)

    with lab.story() if in_story else nullcontext():
        drawn.clear()
        lab._runtime.run(until_drawn)
    assert "2026-01-01 00:00:00 of lab time" in drawn[0]


def test_what_waits_in_another_draws_none_of_its_own(lab: Lab, drawn: Drawn) -> None:
    sweep(told, 1, workers=0)
    assert {each.partition(":")[0] for each in drawn} == {"sweep of told", ""}


def test_no_progress_is_drawn_where_none_is_wanted(lab: Lab, drawn: Drawn) -> None:
    fleet = product_of(lab).fleet(2, Reports)
    run = fleet.start(minutes=5)
    drawn.clear()
    run.wait(progress=False)
    assert not any(" requests" in each for each in drawn)


@pytest.fixture(scope="module")
def kernel() -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager, client = start_new_kernel(startup_timeout=PATIENCE)
    assert said(client, CELL) == []
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def said(
    client: BlockingKernelClient,
    code: str,
    *,
    asks: bool = False,
    hear: Callable[[str], object] = lambda shown: None,
) -> list[tuple[str, Any]]:
    """Return kinds and contents of what a cell outputs. asks: as JupyterLab, which can ask its user for input."""
    own = client.execute(code, allow_stdin=asks)
    found: list[tuple[str, Any]] = []
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != own or kind in ("execute_input", "stream"):
            continue
        if kind == "status":
            if content["execution_state"] == "idle":
                client.get_shell_msg(timeout=PATIENCE)
                return found
            continue
        found.append((kind, content.get("data", content.get("traceback"))))
        hear(str(found[-1]))


def test_a_cell_shows_progress_and_keeps_nothing_of_it(
    kernel: tuple[KernelManager, BlockingKernelClient],
) -> None:
    _, client = kernel
    shown = said(client, f"{AT_ONCE}fleet.run(minutes=5); None", asks=True)
    assert any(kind == "display_data" and RUN in data["text/plain"] for kind, data in shown)
    assert shown[-1] == ("update_display_data", {})
    assert said(client, "fleet.run(minutes=5); None") == []


def test_an_interrupted_cell_is_one_sentence(kernel: tuple[KernelManager, BlockingKernelClient]) -> None:
    manager, client = kernel

    def interrupt(shown: str) -> None:
        if shown.startswith("('display_data'") and RUN in shown:
            manager.interrupt_kernel()

    *_, (end, data), (kind, trace) = said(
        client, f"{AT_ONCE}fleet.run(days=10_000)", asks=True, hear=interrupt
    )
    assert (end, data, kind) == ("update_display_data", {}, "error")
    [line] = trace
    assert re.fullmatch(
        r"KeyboardInterrupt: stopped at 2026-.* of lab time, \d+ requests?; the run is fleet.last, its clock stands",
        line,
    )


def test_a_cell_that_runs_again_closes_the_lab_it_made(
    kernel: tuple[KernelManager, BlockingKernelClient],
) -> None:
    """Also one that is the value of a cell, which the notebook remembers."""
    _, client = kernel
    assert said(client, "import weakref\nmade = lambda: Lab(seed=7)") == []
    shown = [kind for _ in range(2) for kind, _ in said(client, "again = Lab(seed=7)\nagain")]
    assert shown == ["execute_result"] * 2
    assert (
        said(client, "labs = weakref.WeakSet(each for each in Out.values() if isinstance(each, Lab))") == []
    )
    assert said(client, "assert sorted(each.closed for each in labs) == [False, True]") == []
    assert said(client, "edited = Lab(seed=1)\nfirst = edited.product('p')") == []
    assert said(client, "edited = Lab(seed=2)\nassert not first.id == 'q'") == []
    [(kind, trace)] = said(client, "first.device('d').activate()")
    assert (kind, "closed" in trace[0]) == ("error", True), trace
    assert said(client, "one = made()") == said(client, "two = made()") == []
    assert said(client, "assert not one.closed and not two.closed and not lab.closed") == []


def test_a_notebook_that_a_program_runs_has_no_progress(tmp_path: Path) -> None:
    ran = run_notebook(written(tmp_path / "a.ipynb", CELL, f"{AT_ONCE}fleet.run(minutes=5); None"))
    assert ran.error is None
    outputs = [each for cell in code_cells(ran.notebook) for each in cell.outputs]
    # A slow machine may have a warning.
    assert not [each for each in outputs if each.output_type != "stream" or "of lab time" in each.text]
