"""The book: HTML from the pages in notebooks/book/, the notebooks, and the reference that is made from the code.

`python -m labkit.dev.book` builds it into reports/book/html/, and again only what has changed.
"""

from __future__ import annotations

import json
import sys
from binascii import a2b_base64
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

import labkit
import labkit.reporting  # otherwise the import of nbformat takes a second more
from labkit.core.commands import FOLDER
from labkit.dev import architecture
from labkit.reference.pages import generated
from labkit.reporting.html import reachable

CHECKOUT = Path(labkit.__file__).parents[1]
NOTEBOOKS = CHECKOUT / "notebooks"
SOURCES = NOTEBOOKS / "book"
OUTPUT = CHECKOUT / "reports" / "book"
PICTURE = "image/png"
# What the theme does not say to those who hear a page.
SPOKEN = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
}

CONFIGURATION: dict[str, Any] = {
    "project": "labkit",
    "author": "the labkit authors",
    "release": version("labkit"),
    "extensions": [
        *("myst_nb", "sphinx_design", "sphinx_copybutton", "sphinx_click"),
        *("labkit.dev.docstrings", "labkit.dev.navigation"),
    ],
    "html_theme": "furo",
    "html_title": "labkit",
    "html_static_path": ["_static"],
    "html_css_files": ["book.css"],
    "html_theme_options": {"navigation_with_keys": True},
    "html_show_sphinx": False,
    "html_show_copyright": False,
    "html_copy_source": False,
    "html_show_search_summary": False,  # it fetches pages, which browsers refuse for file://
    "html_search_scorer": str(Path(__file__).with_name("search_order.js")),
    "html_last_updated_fmt": None,
    "highlight_language": "text",
    "smartquotes_action": "qe",  # never dashes, which options of commands begin with
    "nb_execution_mode": "off",  # the stored outputs, which tests compare
    "nb_mime_priority_overrides": [("html", mime, None) for mime in ("application/javascript",)],
    "myst_enable_extensions": ["colon_fence", "deflist"],
    "myst_heading_anchors": 3,
    "autodoc_member_order": "bysource",
    "autoclass_content": "both",
    "autodoc_type_aliases": {name: name for name in ("Moment", "Options", "Auth", "ExpectedError")},
    "maximum_signature_line_length": 100,
    "autodoc_typehints_format": "short",
    "python_use_unqualified_type_names": True,
    "copybutton_prompt_text": r">>> |\.\.\. |\$ ",
    "copybutton_prompt_is_regexp": True,
    "suppress_warnings": ["mystnb.unknown_mime_type"],  # of widgets, which have a text beside
}


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the path and the contents of each source file of the book."""
    for path in sorted(SOURCES.rglob("*")):
        if path.is_file():
            yield path.relative_to(SOURCES).as_posix(), path.read_bytes()
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        yield f"notebooks/{path.name}", path.read_bytes()
    for name, text in (*generated(), *architecture.generated()):
        yield name, text.encode()


def gather(folder: Path) -> None:
    """Make a folder hold the source files of the book alone; files that are the same keep their time."""
    kept = set()
    for name, data in files():
        path = folder / name
        kept.add(path)
        if not (path.is_file() and path.read_bytes() == data):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    for path in folder.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


def alternative_texts() -> dict[str, str]:
    """Return the alternative texts of the notebooks' pictures by the SHA-256 sum that MyST names a picture after."""
    outputs = (
        output
        for path in NOTEBOOKS.glob("*.ipynb")
        for cell in json.loads(path.read_bytes())["cells"]
        for output in cell.get("outputs", ())
        if PICTURE in output.get("metadata", {})
    )
    return {
        sha256(a2b_base64("".join(each["data"][PICTURE]))).hexdigest(): each["metadata"][PICTURE]["alt"]
        for each in outputs
    }


def _describe(texts: dict[str, str], _: Sphinx, page: Any) -> None:
    for image in page.findall(lambda node: node.tagname == "image"):
        if text := texts.get(Path(image["uri"]).stem):
            image["alt"] = text
    for block in page.findall(lambda node: node.tagname == "literal_block"):
        if block.astext().startswith("%%lua"):
            block["language"] = "lua"


def _mend(folder: Path) -> None:
    """Change the pages that were written anew, so that they can be read with a keyboard and by a screen reader."""
    for path in folder.rglob("*.html"):
        text = path.read_text()
        mended = reachable(text)
        for written, spoken in SPOKEN.items():
            mended = mended.replace(written, spoken)
        if mended != text:
            path.write_text(mended)


def build(output: Path) -> bool:
    """Build the book into the folder `html` below `output`, and return whether it has no warning."""
    source = output / "source"
    source.mkdir(parents=True, exist_ok=True)
    gather(source)
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            source,
            None,
            output / "html",
            output / "doctrees",
            "html",
            confoverrides=CONFIGURATION,
            status=None,
            warningiserror=True,
        )
        app.connect("doctree-read", partial(_describe, alternative_texts()))
        app.build()
    _mend(output / "html")
    return app.statuscode == 0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--output",
    type=FOLDER,
    default=OUTPUT,
    help="Default: reports/book.",
)
def main(output: Path) -> None:
    """Build the book as HTML; exit status 1 if there is a warning."""
    good = build(output.resolve())
    click.echo(f"the book: {output / 'html' / 'index.html'}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
