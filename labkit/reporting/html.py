"""HTML pages of a report and its notebooks, without external resources."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from copy import deepcopy
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core import __version__
from labkit.core.journal_differences import chain_lines
from labkit.reporting import matrix
from labkit.reporting.run_notebook import NotebookRun
from labkit.reporting.verdicts import BAD, MARKS, MOST_IDS, Verdicts, collect_verdicts

if TYPE_CHECKING:
    from nbconvert import HTMLExporter
    from nbformat import NotebookNode

    from labkit.conformance.verdict import Verdict
    from labkit.core.journal_differences import JournalDifference
    from labkit.reporting.report import Report
    from labkit.reporting.report_differences import ReportDifference

TEMPLATES = Path(__file__).parent / "templates"
DIFFERING = ("failed", "broken", "warned")
ATTENTION = (*DIFFERING, "no check")
# Headers that curl sets by itself.
OF_CLIENT = ("host", "accept", "accept-encoding", "connection", "content-length", "user-agent")
UNSEEN = ("skipped", "not reached", "not run")


def report_page(report: Report) -> str:
    """Return the HTML of report.html: summary, problems, notebooks, and the matrix of requirements."""
    return _rendered("report.html.j2", _facts(report))


def difference_page(found: ReportDifference | JournalDifference) -> str:
    """Return the HTML page of what `labkit diff` found."""
    return _rendered("diff.html.j2", {"found": found, "chain_lines": chain_lines, "version": __version__})


def failure_html(values: dict[str, Any]) -> str:
    """Return the HTML page of a failure that a hunt found. values: of the template failure.html.j2."""
    return _rendered("failure.html.j2", {**values, "version": __version__})


def failure_records_html(values: dict[str, Any]) -> str:
    """Return the records of a failure as HTML for a cell. values: of the template failure_records.html.j2."""
    return _rendered("failure_records.html.j2", values)


def _rendered(template: str, values: dict[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(["html", "html.j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(values)


def notebook_page(run: NotebookRun, names: Collection[str] = ()) -> str:
    """Return the HTML page of an executed notebook. names: of all notebooks in the report, for the links to them."""
    notebook = deepcopy(run.notebook)
    page, _ = _exporter(names).from_notebook_node(notebook, {"run": run, "pygments": _pygments()})
    return str(page)


def report_links(html: str, names: Collection[str]) -> str:
    """Return the HTML of a text cell in which links to notebooks lead to their pages.

    The text of a link stays alone where the report lacks the notebook. names: of the notebooks in the report.
    """

    def replaced(link: re.Match[str]) -> str:
        name, text = link.groups()
        return f'<a href="{name}.html">{text}</a>' if name in names else text

    return re.sub(r'<a href="([\w-]+)\.ipynb(?:#[^"]*)?"[^>]*>(.*?)</a>', replaced, html, flags=re.DOTALL)


def reachable(html: str) -> str:
    """Return HTML whose boxes that may scroll are reached with a keyboard, and whose tables have no empty headers."""
    return re.sub(r'<(pre|table|div class="lanes card")(?=[ >])', r'<\1 tabindex="0"', html).replace(
        "<th></th>", "<td></td>"
    )


def curl(exchange: str) -> str:
    """Return the request of an exchange as a command of curl; empty for an exchange of another kind."""
    sent, answered, _ = exchange.partition("\n\nHTTP ")
    head, _, body = sent.partition("\n\n")
    line, *fields = head.split("\n")
    headers = dict(field.partition(": ")[::2] for field in fields)
    names = {name.lower(): name for name in headers}
    request = re.fullmatch(r"([A-Z]+) (/\S*)", line)
    if not (answered and request and "host" in names):
        return ""
    method, path = request.groups()
    words = ["curl", "-i", *{"GET": (), "HEAD": ("--head",)}.get(method, ("-X", method))]
    words.append(f"https://{headers[names['host']]}{path}")
    kept = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in OF_CLIENT]
    words += [word for each in kept for word in ("-H", each)]
    return shlex.join([*words, "--data-binary", body] if body else words)


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
        "problems": len(causes) + raised or int(not report.verdicts),
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
        "curl": curl,
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


def _exporter(names: Collection[str]) -> HTMLExporter:
    from nbconvert import HTMLExporter
    from nbconvert.filters import Highlight2HTML
    from traitlets.config import Config

    class NotebookPages(HTMLExporter):
        """Exporter without nbconvert's second pass over each page, which only adds marks that this template lacks."""

        def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **options: Any) -> Any:
            self.register_filter("report_links", lambda html: report_links(html, names))  # type: ignore[no-untyped-call]
            self.register_filter("reachable", reachable)  # type: ignore[no-untyped-call]
            self.register_filter("highlight_code", Highlight2HTML(pygments_lexer="ipython3", parent=self))  # type: ignore[no-untyped-call]
            return super(HTMLExporter, self).from_notebook_node(nb, resources, **options)

    # nbconvert's own templates load external scripts; with these paths it cannot find them.
    return NotebookPages(  # type: ignore[no-untyped-call]
        template_paths=[str(TEMPLATES)],
        template_file="notebook.html.j2",
        config=Config(HighlightMagicsPreprocessor={"languages": {"%%lua": "lua"}}),
    )


def _pygments() -> str:
    """Return CSS with the colours of code, for light and dark mode."""
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="xcode").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    plain = ".highlight, .highlight pre { background: var(--code); }"
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n{plain}"
