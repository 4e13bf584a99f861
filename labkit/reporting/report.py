"""A conformance report: run the notebooks, collect their verdicts, leave files for people and for CI."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.conformance import processes
from labkit.conformance.coverage import Coverage, coverage
from labkit.conformance.fork_server import ForkServer
from labkit.conformance.target import LOCAL_TARGET, Target
from labkit.conformance.verdict import Outcome, Verdict
from labkit.core.clock import Clock
from labkit.reporting import causes, html, matrix
from labkit.reporting.causes import Problem
from labkit.reporting.junit import junit
from labkit.reporting.kernel_server import KernelServer
from labkit.reporting.matrix import Row
from labkit.reporting.notebooks import find, reports_folder
from labkit.reporting.parameters import ParameterError, checked, converted, declared
from labkit.reporting.run_notebook import NotebookRun, read
from labkit.reporting.run_notebooks import PLAYED, run_notebooks
from labkit.reporting.verdicts import BAD, collected

LATEST = "latest"
SEED = 7  # as the notebooks have it by default


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run.

    verdicts: one for each check that was played; parameters: those that were given; coverage: of the requirements
    that were asked for; strict: do choices that differ count as failures, too? began: seconds since 1970; seconds:
    how long it took; address: of a platform elsewhere.
    """

    parameters: Mapping[str, Any]
    runs: tuple[NotebookRun, ...]
    verdicts: tuple[Verdict, ...]
    coverage: Coverage
    strict: bool = False
    began: float = 0.0
    seconds: float = 0.0
    address: str = ""

    @property
    def target(self) -> str:
        """`lab`, or `remote`: no address, so that reports of two runs compare."""
        return "lab" if self.parameters.get("target", LOCAL_TARGET) == LOCAL_TARGET else "remote"

    @property
    def rows(self) -> list[Row]:
        """The matrix."""
        return matrix.rows(self.coverage, self.verdicts)

    @property
    def failing(self) -> tuple[Outcome, ...]:
        """The outcomes that make this run a failure."""
        return (*BAD, "warned") if self.strict else BAD

    @property
    def bad(self) -> list[Verdict]:
        """The verdicts that make this run a failure; what explains others before them."""
        return [verdict for each in self.causes for verdict in (each.verdict, *each.same)]

    @property
    def causes(self) -> list[Problem]:
        """The same, each with the verdicts that it probably explains; the first ones explain the most."""
        return causes.problems(self.verdicts, self.failing, self.coverage.catalogue.parts)

    @property
    def good(self) -> bool:
        """Every notebook ran to its end, checks were played, and none came out as it must not."""
        raised = any(run.error is not None for run in self.runs)
        return bool(self.runs) and bool(self.verdicts) and not raised and not self.bad

    @property
    def complete(self) -> bool:
        """Is it the whole catalogue, against the lab?"""
        return self.target == LOCAL_TARGET and not self.parameters.get("only")

    def problems(self) -> list[str]:
        """A line for each check that came out as it must not and each notebook that raised."""
        lines = []
        for cause in self.causes:
            lines += [_line(each) for each in (cause.verdict, *cause.same)]
            if count := len(cause.left_out):
                lines.append(f"       {count} check{'' if count == 1 else 's'} not reached because of that")
        lines += [
            f"raised {run.name}  cell {run.error.number}: {_short(run.error.message)}"
            for run in self.runs
            if run.error
        ]
        return lines or ([] if self.verdicts else ["no check ran"])

    def summary(self) -> dict[str, Any]:
        """Counts, as plain data for JSON."""
        outcomes = [each.outcome for each in self.verdicts]
        return {
            "good": self.good,
            "labkit": __version__,
            "target": self.target,
            "parameters": {name: value for name, value in self.parameters.items() if name != "target"},
            "notebooks": {run.name: "raised" if run.error else "ran" for run in self.runs},
            "requirements": matrix.counts(self.rows),
            "checks": {each: outcomes.count(each) for each in matrix.WORST_FIRST if each in outcomes},
        }

    def line(self, folder: Path) -> str:
        """The run in one line, for a terminal."""
        counted = self.summary()
        checks = ", ".join(f"{count} {outcome}" for outcome, count in counted["checks"].items())
        met = counted["requirements"].get("passed", 0)
        return (
            f"{len(self.runs)} notebooks, {len(self.verdicts)} checks ({checks or 'none'}), "
            f"{met} of {len(self.coverage.covered)} requirements passed: {_near(folder / 'report.html')}"
        )


# --- running ------------------------------------------------------------------------------------------------


def plan(
    folder: Path, given: Mapping[str, Any], texts: Mapping[str, str]
) -> list[tuple[Path, dict[str, Any]]]:
    """Which notebooks run, each with its parameters, all checked before anything runs.

    given: parameters that go to each notebook which knows them; texts: further ones as typed at a terminal, each of
    which one notebook at least must know, or the one that it names: `21_a_simulated_day.devices`. `only` leaves out
    the notebooks that do not know it. `played` goes to those that know it. Raises ParameterError.
    """
    planned = []
    known: dict[str, Any] = {}
    named, texts = _by_notebook(texts, folder)
    for path in find(folder):
        defaults = declared(read(path), path.name)
        known |= defaults
        left_out = bool(given.get("only")) and "only" not in defaults
        own = {} if left_out else {name: value for name, value in given.items() if name in defaults}
        asked = {} if left_out else {name: text for name, text in texts.items() if name in defaults}
        asked |= named.get(path.stem, {})
        own |= {name: converted(text, defaults.get(name), name) for name, text in asked.items()}
        own = checked(own, defaults, path.name)
        if not left_out:
            planned.append((path, own))
    known.pop(PLAYED, None)  # not for people to give
    for name in texts:
        if name not in known:
            raise ParameterError(
                f"unknown parameter {name!r}; the notebooks know: {', '.join(sorted(known))}"
            )
    if not planned:
        raise ParameterError(f"--only: no notebook of {folder} shows checks, among which it could choose")
    return planned


def _by_notebook(texts: Mapping[str, str], folder: Path) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Parameters of one notebook, by its name, and those of all."""
    named: dict[str, dict[str, str]] = {}
    general: dict[str, str] = {}
    names = [path.stem for path in find(folder)]
    for parameter, text in texts.items():
        notebook, dot, name = parameter.rpartition(".")
        if not dot:
            general[name] = text
        elif notebook in names:
            named.setdefault(notebook, {})[name] = text
        else:
            raise ParameterError(
                f"{parameter!r}: there is no notebook {notebook!r}; there are: {', '.join(names)}"
            )
    return named, general


def _used(planned: list[tuple[Path, dict[str, Any]]], texts: Mapping[str, str]) -> dict[str, Any]:
    """What was given, without `played`; what one notebook alone got goes by its full name."""
    used = {}
    for path, own in planned:
        for name, value in own.items():
            full = f"{path.stem}.{name}"
            if name != PLAYED:
                used[full if full in texts else name] = value
    return used


def make(
    folder: Path,
    output: Path | None = None,
    *,
    target: str = LOCAL_TARGET,
    seed: int | None = None,
    only: str = "",
    parameters: Iterable[str] = (),
    fail_on: str = "failed",
) -> tuple[Report, Path]:
    """Play the checks once, run the notebooks of a folder, and write the report; returns it and its folder.

    parameters: further ones, `name=value`; fail_on: `warned` makes choices that differ count as failures. Raises
    ParameterError, UnknownRequirementError for `only` and SettingsError for `target` before anything runs.
    """
    began, start = Clock().now(), time.perf_counter()
    with ExitStack() as stack:
        # They start while this process reads the notebooks, the requirements and the checks.
        server = stack.enter_context(ForkServer(processes.PRELOAD))
        given: dict[str, Any] = {"only": only} if only else {}
        address = ""
        if target != LOCAL_TARGET:
            found = Target.remote(target).address
            address = f"{found.host}:{found.https_port}"
            target = target if target.lstrip().startswith("{") else str(Path(target).resolve())
            given["target"] = target
        if seed is not None:
            given["seed"] = seed
        reports = reports_folder(folder)
        where = output if output is not None else reports / LATEST
        data = where / "verdicts.json"
        given[PLAYED] = os.path.relpath(data, folder)  # kernels start in that folder
        texts = dict(map(_pair, parameters))
        planned = plan(folder, given, texts)
        used = _used(planned, texts)
        kernels = stack.enter_context(KernelServer()) if KernelServer.pays(len(planned)) else None
        proved = coverage().below(only) if only else coverage()
        where.mkdir(parents=True, exist_ok=True)
        for name in ("report.html", "verdicts.json", "junit.xml"):  # an interrupted run leaves no old ones
            (where / name).unlink(missing_ok=True)

        verdicts: list[Verdict] = []
        report = Report(used, (), (), proved, fail_on == "warned", began, 0.0, address)

        def play(progress: Callable[[Verdict], object]) -> None:
            verdicts.extend(processes.play(proved.checks, target, used.get("seed", SEED), progress, server))
            data.write_text(verdicts_json(replace(report, verdicts=tuple(verdicts))), encoding="utf-8")

        runs = run_notebooks(planned, where, play, len(proved.checks), kernels)
    shown = matrix.merged([*verdicts, *(each for run in runs for each in collected(run.notebook))])
    report = replace(report, runs=runs, verdicts=tuple(shown), seconds=time.perf_counter() - start)
    write(report, where)
    if report.complete:
        reports.mkdir(exist_ok=True)
        (reports / "conformance.md").write_text(matrix.markdown(report.rows, proved), encoding="utf-8")
    return report, where


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ParameterError(f"{text!r} is no parameter: want name=value")
    return name.strip(), value


def _near(path: Path) -> str:
    """A path as seen from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _line(verdict: Verdict) -> str:
    why = _short(verdict.explanation(), 400)
    return f"{verdict.outcome:6} {' '.join(verdict.blamed)}  {verdict.check}: {why}"


def _short(text: str, longest: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


# --- writing ------------------------------------------------------------------------------------------------


def write(report: Report, folder: Path) -> None:
    """Write verdicts.json, junit.xml and report.html."""
    (folder / "verdicts.json").write_text(verdicts_json(report), encoding="utf-8")
    suites = junit(
        report.verdicts, report.runs, strict=report.strict, began=report.began, seconds=report.seconds
    )
    (folder / "junit.xml").write_text(suites, encoding="utf-8")
    (folder / "report.html").write_text(html.report_page(report), encoding="utf-8")


def verdicts_json(report: Report) -> str:
    """The verdicts as JSON, a line each and without durations, so that two runs compare line by line."""
    head = json.dumps(report.summary(), ensure_ascii=False)[:-1]
    states = ",\n".join(f"  {json.dumps(row.id)}: {json.dumps(row.state)}" for row in report.rows)
    lines = ",\n".join(f"  {json.dumps(_plain(each), ensure_ascii=False)}" for each in report.verdicts)
    return f'{head},\n"states": {{\n{states}\n}},\n"verdicts": [\n{lines}\n]}}\n'


def _plain(verdict: Verdict) -> dict[str, Any]:
    return {name: value for name, value in verdict.as_dict().items() if name != "seconds"}
