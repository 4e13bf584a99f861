"""Conformance report: runs checks and notebooks, collects the verdicts, and writes files for people and for CI."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from labkit.conformance import processes
from labkit.conformance.check import Check
from labkit.conformance.coverage import Coverage
from labkit.conformance.fork_server import ForkServer
from labkit.conformance.own import Folders
from labkit.conformance.ready import without_token
from labkit.conformance.suite import NOTHING, Suite, suite
from labkit.conformance.target import CONTROLLED, LOCAL_TARGET, open_target
from labkit.conformance.verdict import Outcome, Verdict
from labkit.core import __version__
from labkit.core.files import shown_path
from labkit.core.words import counted
from labkit.labtime.clock import Clock
from labkit.reporting import causes, html, matrix
from labkit.reporting.causes import Problem
from labkit.reporting.junit import junit
from labkit.reporting.matrix import Row
from labkit.reporting.notebooks import find_notebooks, reports_folder
from labkit.reporting.parameters import UNWATCHED, ParameterError, check_values, convert, declared
from labkit.reporting.preload import PRELOAD
from labkit.reporting.report_differences import EXCHANGES
from labkit.reporting.run_notebook import NotebookRun, read
from labkit.reporting.run_notebooks import CHECKS, VERDICTS_FILE, run_notebooks
from labkit.reporting.verdicts import BAD, MARKS, MOST_IDS, Verdicts, collect_verdicts

LATEST = "latest"
FILES = (
    "report.html",
    "verdicts.json",
    "exchanges.json",
    "junit.xml",
)  # an interrupted run must leave no old ones
SEED = 7  # default seed of the notebooks
DIFFERING = ("failed", "broken", "warned")
ATTENTION = (*DIFFERING, "no check")
UNSEEN = ("skipped", "not reached", "not run")
PACKAGES = Path(__file__).parents[2]  # the folder that has labkit: a checkout, or site-packages


@dataclass(frozen=True, slots=True)
class Report:
    """Result of one report run.

    parameters: given parameters of the notebooks; runs: executed notebooks; verdicts: one for each check that ran;
    coverage: of the selected requirements of this package; own: of those of one's own folders; strict: whether
    deviations from a requirement of level choice are failures; began: seconds since 1970; seconds: duration; address:
    host and port of a remote platform, empty for a lab; interrupted: whether it has only what was over by then.
    """

    parameters: Mapping[str, Any]
    runs: tuple[NotebookRun, ...]
    verdicts: tuple[Verdict, ...]
    coverage: Coverage
    strict: bool = False
    began: float = 0.0
    seconds: float = 0.0
    address: str = ""
    own: Coverage = NOTHING
    interrupted: bool = False

    @property
    def target(self) -> str:
        """`lab` or `remote`. It contains no address, so that reports of different runs can be compared."""
        return "lab" if self.parameters.get("target", LOCAL_TARGET) == LOCAL_TARGET else "remote"

    @property
    def rows(self) -> list[Row]:
        """Rows of the matrix of requirements."""
        return [*matrix.rows(self.coverage, self.verdicts), *matrix.rows(self.own, self.verdicts)]

    @property
    def suite(self) -> Suite:
        """The selected requirements and checks, also those of one's own."""
        return Suite(self.coverage, self.own)

    @property
    def failing(self) -> tuple[Outcome, ...]:
        """The outcomes that make this run a failure."""
        return (*BAD, "warned") if self.strict else BAD

    @property
    def bad(self) -> list[Verdict]:
        """The verdicts that make this run a failure, probable causes first."""
        return [verdict for each in self.causes for verdict in (each.verdict, *each.same_answer)]

    @property
    def causes(self) -> list[Problem]:
        """The verdicts that make this run a failure, each with the verdicts that it probably explains."""
        return causes.problems(self.verdicts, self.failing, self.suite.catalogue.parts)

    @property
    def good(self) -> bool:
        """Whether every notebook ran to its end, at least one check ran, and no verdict is a failure."""
        raised = any(run.error is not None for run in self.runs)
        return bool(self.runs and self.verdicts) and not (raised or self.bad or self.interrupted)

    @property
    def complete(self) -> bool:
        """Whether the report covers the whole catalogue, checked against a lab."""
        return self.target == LOCAL_TARGET and not (self.parameters.get("only") or self.interrupted)

    def problems(self) -> list[str]:
        """Return a line for each failed check and each notebook that raised, and one that names the warned checks."""
        lines = []
        for cause in self.causes:
            lines += [_line(each) for each in (cause.verdict, *cause.same_answer)]
            if count := len(cause.not_reached):
                lines.append(f"       {counted(count, 'check')} not reached because of that")
        lines += [
            f"raised {run.name}  cell {run.error.number}: {_short(run.error.message)}"
            for run in self.runs
            if run.error
        ]
        warned = [each.check for each in self.verdicts if each.outcome == "warned"]
        if warned and not self.strict:
            lines.append(_short(f"warned {len(warned)} of choices that differ: {', '.join(warned)}", 400))
        if self.control_hint:
            lines.append(self.control_hint)
        if self.interrupted:
            lines.append(f"labkit report: interrupted: {self.done}")
        return lines or ([] if self.verdicts else ["no check ran"])

    @property
    def control_hint(self) -> str:
        """Sentence with the number of skipped checks that need control of the lab; empty if there are none."""
        needs = {each.name: each.needs for each in self.suite.checks}
        skipped = [needs.get(each.check) for each in self.verdicts if each.outcome == "skipped"]
        count = sum(each is not None and frozenset() < each <= CONTROLLED for each in skipped)
        if not (count and self.address):
            return ""
        return (
            f"skipped {count} that would run if the lab were served with `--control --seed 7`: all but those that need "
            "the report's own process"
        )

    @property
    def done(self) -> str:
        """Sentence with the number of checks that were over at the end."""
        over = {each.check for each in self.verdicts}
        checks = self.suite.checks
        count = sum(each.name in over for each in checks)
        return f"{count} of {counted(len(checks), 'check')} were over; the report has their verdicts"

    def summary(self) -> dict[str, Any]:
        """Return the result in numbers, as plain data for JSON."""
        outcomes = [each.outcome for each in self.verdicts]
        return {
            "good": self.good,
            "interrupted": self.interrupted,
            "labkit": __version__,
            "target": self.target,
            "parameters": {name: value for name, value in self.parameters.items() if name != "target"},
            "notebooks": {run.name: "raised" if run.error else "ran" for run in self.runs},
            "requirements": matrix.counts(self.rows),
            "checks": {each: outcomes.count(each) for each in matrix.WORST_FIRST if each in outcomes},
        }

    def line(self, folder: Path) -> str:
        """Return the result in one line, for a terminal. folder: of the report's files."""
        summary = self.summary()
        checks = ", ".join(f"{count} {outcome}" for outcome, count in summary["checks"].items())
        met = summary["requirements"].get("passed", 0)
        return (
            f"{counted(len(self.runs), 'notebook')}, {counted(len(self.verdicts), 'check')} ({checks or 'none'}), "
            f"{met} of {counted(len(self.rows), 'requirement')} passed: {_relative(folder / 'report.html')}"
        )


# --- running ------------------------------------------------------------------------------------------------


def plan(
    folder: Path, given: Mapping[str, Any], texts: Mapping[str, str]
) -> list[tuple[Path, dict[str, Any]]]:
    """Return the notebooks of a folder that are to run, each with its validated parameters.

    given: parameters passed to each notebook that declares them, with those of UNWATCHED; with `only` among them,
    notebooks that do not declare `only` are left out. texts: further parameters as typed in a terminal; one that names
    a notebook, such as `21_a_simulated_day.devices`, is for this notebook only. Raises ParameterError for a wrong
    value, and for a parameter of `texts` that no notebook declares.
    """
    planned = []
    known: dict[str, Any] = {}
    named, texts = _by_notebook(texts, folder)
    for path in find_notebooks(folder):
        defaults = declared(read(path), path.name)
        known |= defaults
        left_out = bool(given.get("only")) and "only" not in defaults
        general = {**UNWATCHED, **given}
        own = {} if left_out else {name: value for name, value in general.items() if name in defaults}
        asked = {} if left_out else {name: text for name, text in texts.items() if name in defaults}
        asked |= named.get(path.stem, {})
        own |= {name: convert(text, defaults.get(name), name) for name, text in asked.items()}
        own = check_values(own, defaults, path.name)
        if not left_out:
            planned.append((path, own))
    for name in (VERDICTS_FILE, CHECKS):  # set by the report, never by the user
        known.pop(name, None)
    for name in texts:
        if name not in known:
            raise ParameterError(
                f"unknown parameter {name!r}; the notebooks know: {', '.join(sorted(known))}"
            )
    if not planned:
        raise ParameterError(f"--only: no notebook of {folder} shows checks")
    return planned


def _by_notebook(texts: Mapping[str, str], folder: Path) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the parameters for single notebooks, by notebook, and the parameters for all notebooks."""
    named: dict[str, dict[str, str]] = {}
    general: dict[str, str] = {}
    names = [path.stem for path in find_notebooks(folder)]
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


def _used_parameters(planned: list[tuple[Path, dict[str, Any]]], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the given parameters for the report, without the paths of the verdicts and of one's own checks.

    A parameter for a single notebook keeps its full name.
    """
    used = {}
    for path, own in planned:
        for name, value in own.items():
            full = f"{path.stem}.{name}"
            if name not in (VERDICTS_FILE, CHECKS) and (name, value) not in UNWATCHED.items():
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
    checks: Folders = (),
) -> tuple[Report, Path]:
    """Run the checks once and the notebooks of a folder, and write a report. Returns the report and its folder.

    output: the report's folder, by default `reports/latest`; target: `lab`, or the address of a remote platform (see
    `Target.remote`); only: prefixes of the requirements to check, with spaces; parameters: of notebooks, as
    `name=value`; fail_on: `warned` counts deviations from requirements of level choice as failures; checks: folders of
    one's own. Raises ParameterError, UnknownRequirementError for `only`, SettingsError for `target`, and CatalogueError
    for `checks`, before anything runs.
    """
    began, start = Clock().now(), time.perf_counter()
    with ExitStack() as stack:
        # It starts while this process reads the notebooks, the requirements and the checks.
        server = stack.enter_context(ForkServer(PRELOAD))
        chosen = suite(checks).below(*only.split())
        given: dict[str, Any] = {"only": only} if only else {}
        if checks:
            given[CHECKS] = [str(Path(each).resolve()) for each in checks]
        address = ""
        if target != LOCAL_TARGET:
            target, address = _remote(target)
            given["target"] = without_token(target)
        if seed is not None:
            given["seed"] = seed
        reports = reports_folder(folder)
        where = output if output is not None else reports / LATEST
        data = where / "verdicts.json"
        given[VERDICTS_FILE] = os.path.relpath(data, folder)  # kernels start in the notebooks' folder
        texts = dict(map(_pair, parameters))
        planned = plan(folder, given, texts)
        used = _used_parameters(planned, texts)
        where.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (where / name).unlink(missing_ok=True)

        verdicts: list[Verdict] = []
        runs: list[NotebookRun] = []
        strict = fail_on == "warned"
        report = Report(used, (), (), chosen.package, strict, began, 0.0, address, chosen.own)

        def run_checks(progress: Callable[[Verdict], object]) -> None:
            noted = partial(_note, verdicts, progress)
            verdicts[:] = processes.play(chosen.checks, target, used.get("seed", SEED), noted, server, checks)
            data.write_text(verdicts_json(replace(report, verdicts=tuple(verdicts))), encoding="utf-8")

        with suppress(KeyboardInterrupt):  # the report has what is known by then
            run_notebooks(planned, where, run_checks, len(chosen.checks), server, runs.append)
    shown = matrix.merged([*verdicts, *(each for run in runs for each in collect_verdicts(run.notebook))])
    report = replace(
        report,
        runs=tuple(sorted(runs, key=lambda run: run.name)),
        verdicts=tuple(shown),
        seconds=time.perf_counter() - start,
        interrupted=len(runs) < len(planned),
    )
    write(report, where)
    if report.complete:
        reports.mkdir(exist_ok=True)
        package = matrix.rows(report.coverage, report.verdicts)
        (reports / "conformance.md").write_text(matrix.markdown(package, report.coverage), encoding="utf-8")
    return report, where


def _note(verdicts: list[Verdict], progress: Callable[[Verdict], object], verdict: Verdict) -> None:
    verdicts.append(verdict)
    progress(verdict)


def _remote(target: str) -> tuple[str, str]:
    """Return a remote target, a file by its absolute path, with its host and port. Raises SettingsError."""
    with open_target(target) as found:
        found.expect_complete()
        address = f"{found.address.host}:{found.address.https_port}"
    is_file = not target.lstrip().startswith(("{", "http://", "https://"))
    return str(Path(target).resolve()) if is_file else target, address


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ParameterError(f"{text!r} is no parameter: expected name=value")
    return name.strip(), value


def _relative(path: Path) -> str:
    """Return a path relative to the current folder, if it is inside of it."""
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
    """Write verdicts.json, exchanges.json, junit.xml and report.html to a folder."""
    (folder / "verdicts.json").write_text(verdicts_json(report), encoding="utf-8")
    (folder / EXCHANGES).write_text(exchanges_json(report.verdicts), encoding="utf-8")
    sentences = {each.id: each.text for each in report.suite.catalogue}
    suites = junit(
        report.verdicts,
        report.runs,
        sentences,
        strict=report.strict,
        began=report.began,
        seconds=report.seconds,
    )
    (folder / "junit.xml").write_text(suites, encoding="utf-8")
    (folder / "report.html").write_text(report_page(report), encoding="utf-8")


def verdicts_json(report: Report) -> str:
    """Return the report as JSON, one line per verdict and without durations, so that two runs can be compared."""
    head = json.dumps(report.summary(), ensure_ascii=False)[:-1]
    states = ",\n".join(f"  {json.dumps(row.id)}: {json.dumps(row.state)}" for row in report.rows)
    lines = ",\n".join(f"  {json.dumps(_plain(each), ensure_ascii=False)}" for each in report.verdicts)
    return f'{head},\n"states": {{\n{states}\n}},\n"verdicts": [\n{lines}\n]}}\n'


def exchanges_json(verdicts: Iterable[Verdict]) -> str:
    """Return the exchanges of checks that passed, by check, one line each: `labkit diff` shows them beside a failure.

    They are apart from verdicts.json, since ports and identifiers in them differ from run to run.
    """
    lines = [
        f"{json.dumps(each.check)}: {json.dumps(each.exchanges, ensure_ascii=False)}"
        for each in verdicts
        if each.exchanges
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain(verdict: Verdict) -> dict[str, Any]:
    return {name: value for name, value in verdict.as_dict().items() if name not in ("seconds", "exchanges")}


# --- the page -----------------------------------------------------------------------------------------------


def report_page(report: Report) -> str:
    """Return the HTML of report.html: summary, problems, notebooks, and the matrix of requirements."""
    return html.rendered("report.html.j2", _facts(report))


def _facts(report: Report) -> dict[str, Any]:
    rows = report.rows
    summary = report.summary()
    bad = sum(each.outcome in BAD for each in report.verdicts)
    causes = report.causes
    raised = sum(run.error is not None for run in report.runs)
    groups = {
        "differing": {row.id for row in rows if row.state in DIFFERING},
        "attention": {row.id for row in rows if row.state in ATTENTION},
        "unseen": {row.id for row in rows if row.state in UNSEEN},
        "must": {row.id for row in rows if row.covered.requirement.level == "must"},
        "choice": {row.id for row in rows if row.covered.requirement.level == "choice"},
    }
    return {
        "report": report,
        "facts": _run(report),
        "only": report.parameters.get("only", ""),
        "requirements": report.suite.catalogue.requirements,
        "summary": summary,
        "rows": rows,
        "runs": matrix.runs(
            [
                *matrix.parts(matrix.rows(report.coverage, report.verdicts), report.coverage),
                *matrix.parts(matrix.rows(report.own, report.verdicts), report.own),
            ]
        ),
        "states": matrix.counts(rows),
        "checks": summary["checks"],
        "bad": bad,
        "causes": causes,
        "problems": len(causes) + raised + report.interrupted or int(not report.verdicts),
        "books": [
            # a model check may cover several areas, each of which shows its verdict
            (run, _nonzero(Verdicts(matrix.merged(collect_verdicts(run.notebook))).counts))
            for run in report.runs
        ],
        "totals": report.coverage.counts(),
        "groups": groups,
        "attention": len(groups["attention"]),
        "unseen": len(groups["unseen"]),
        "untested": [
            each for each in report.coverage.catalogue.statements.values() if each.nothing_to_test is not None
        ],
        "not_mutable": report.coverage.not_mutable,
        "marks": MARKS,
        "areas": matrix.AREAS,
        "curl": partial(html.curl, port=report.address.rpartition(":")[2]),
        "code": partial(_code, {each.name: each for each in report.suite.checks}),
        "repeat": partial(_repeat, report),
        "most_ids": MOST_IDS,
    }


def _run(report: Report) -> dict[str, str]:
    """Return facts about the run, by name: target, requirements, parameters, version, time and duration."""
    given = {name: value for name, value in report.parameters.items() if name not in ("target", "only")}
    parameters = ", ".join(f"{name} {value}" for name, value in given.items())
    facts = {
        "target": f"a platform at {report.address}" if report.address else "the lab itself",
        "requirements": f"below {report.parameters['only']}" if report.parameters.get("only") else "all",
        "parameters": parameters or "the notebooks' own",
        "labkit": __version__,
        "begun": datetime.fromtimestamp(report.began, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "took": f"{report.seconds:.0f} s",
    }
    if report.own.covered:
        facts["requirements of one's own"] = ", ".join(report.own.catalogue.parts)
    if report.strict:
        facts["fails on"] = "choices that differ, too"
    return facts


def _nonzero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _repeat(report: Report, verdict: Verdict) -> str:
    """Return the command that plays the checks of a verdict's first requirement, apart from this report."""
    first = verdict.blamed[0]
    given = {name: report.parameters[name] for name in ("target", "seed") if name in report.parameters}
    if first in report.own.catalogue.requirements:
        given["checks"] = "FOLDER"
    options = {**given, "only": first, "output": f"reports/{first}"}
    return shlex.join(
        ["labkit", "report", *(word for each in options.items() for word in (f"--{each[0]}", str(each[1])))]
    )


def _code(checks: Mapping[str, Check], verdict: Verdict) -> tuple[str, str]:
    """Return where the code of a verdict's check begins, as `file:line`, and the code; empty texts where it is unknown.

    The page has the code itself, since its reader may lack the file, or have another version of it.
    """
    if (check := checks.get(verdict.check)) is None:
        return "", ""
    function: Callable[..., object] = check.function if check.model is None else check.model.game
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:  # an installation without sources
        return "", ""
    file = Path(inspect.getfile(function))
    shown = file.relative_to(PACKAGES) if file.is_relative_to(PACKAGES) else shown_path(file)
    return f"{shown}:{first}", "".join(lines)
