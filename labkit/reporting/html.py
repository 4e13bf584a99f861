"""HTML pages of a report and its notebooks, without external resources."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.core import __version__
from labkit.core.journal_differences import chain_lines
from labkit.reporting.run_notebook import NotebookRun

if TYPE_CHECKING:
    from nbconvert import HTMLExporter
    from nbformat import NotebookNode

    from labkit.core.journal_differences import JournalDifference
    from labkit.reporting.report_differences import ReportDifference

TEMPLATES = Path(__file__).parent / "templates"
# Headers that curl sets by itself.
OF_CLIENT = ("host", "accept", "accept-encoding", "connection", "content-length", "user-agent")


def difference_page(found: ReportDifference | JournalDifference) -> str:
    """Return the HTML page of what `labkit diff` found."""
    return rendered("diff.html.j2", {"found": found, "chain_lines": chain_lines, "version": __version__})


def failure_html(values: dict[str, Any]) -> str:
    """Return the HTML page of a failure that a hunt found. values: of the template failure.html.j2."""
    return rendered("failure.html.j2", {**values, "version": __version__})


def failure_records_html(values: dict[str, Any]) -> str:
    """Return the records of a failure as HTML for a cell. values: of the template failure_records.html.j2."""
    return rendered("failure_records.html.j2", values)


def rendered(template: str, values: dict[str, Any]) -> str:
    """Return the HTML of a template in TEMPLATES, with these values."""
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
    return re.sub(
        r'<(pre|table|div class="lanes card")(?=[ >])(?! tabindex)', r'<\1 tabindex="0"', html
    ).replace("<th></th>", "<td></td>")


def curl(exchange: str, port: str = "") -> str:
    """Return the request of an exchange as a command of curl; empty for an exchange of another kind.

    port: of a platform that goes on after the report, whose CA is not that of the system.
    """
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
    host = headers[names["host"]]
    words += ["--cacert", "ca.pem"] if port else []
    words.append(f"https://{host}:{port}{path}" if port and ":" not in host else f"https://{host}{path}")
    kept = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in OF_CLIENT]
    words += [word for each in kept for word in ("-H", each)]
    return shlex.join([*words, "--data-binary", body] if body else words)


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
