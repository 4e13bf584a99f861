"""Sphinx extension for ways to a page: words that people search for, and a navigation tree that is resolved once.

The theme shows the whole tree on each page. Sphinx resolves it anew each time, which takes more than half of a build.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from docutils.nodes import meta
from sphinx.addnodes import index
from sphinx.application import Sphinx
from sphinx.environment.adapters.toctree import global_toctree_for_doc

# By page, phrases that people search for and that its text may lack: entries of the book's index, by which
# search_order.js puts the page first.
SOUGHT = {
    "tutorials/index": "install; pip; set up; setup; wheel; windows; macos; system requirements",
    "tutorials/lua-solution": "lua; lua syntax; lua version; luajit; lua tutorial",
    "how-to/see-why-a-request-was-refused": "error 401; 401 unauthorized; 401; 403; 404; http status; debug a request",
    "how-to/query-the-data-with-sql": "export csv; export data; excel; download data; parquet; pandas dataframe",
    "how-to/run-a-fleet-at-the-terminal": "fleet 1000 devices; 10000 devices; many devices; load test; stress test",
    "notebooks/09_jwt": "jwt; json web token",
    "explanation/what-labkit-does-not-do": "mqtt; coap; amqp; http/2; docker; docker compose; kubernetes; pypi; conda; "
    "production; cloud; postman; billing",
}


def _is_link(node: Any) -> bool:
    return bool(node.tagname == "reference")


def _tree(app: Sphinx, trees: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the tree with these options, as the first page of the book has it."""
    key = repr(sorted(options.items()))
    if key not in trees:
        root = app.config.root_doc
        trees[key] = global_toctree_for_doc(app.env, root, app.builder, tags=app.tags, **options)
    return trees[key]


def _render(app: Sphinx, page: str, trees: dict[str, Any], **options: Any) -> str:
    """Return the HTML of the tree on a page: links relative to it, and the branch of the page marked as current."""
    builder: Any = app.builder
    tree = _tree(app, trees, options)
    marked: list[Any] = []
    originals: list[tuple[Any, str]] = []
    pages = {builder.get_target_uri(each): each for each in app.env.found_docs}
    for link in tree.findall(_is_link) if tree is not None else ():
        originals.append((link, link["refuri"]))
        target = pages.get(link["refuri"])
        if target is not None:
            link["refuri"] = builder.get_relative_uri(page, target)
        branch = link if target == page else None
        while branch is not None:
            branch["classes"].append("current")
            marked.append(branch)
            branch = branch.parent
    try:
        return str(builder.render_partial(tree)["fragment"])
    finally:
        for each in marked:
            each["classes"].remove("current")
        for link, uri in originals:
            link["refuri"] = uri


def _page_context(
    trees: dict[str, Any], app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    if "toctree" in context:
        toctree: Callable[..., str] = partial(_render, app, page, trees)
        context["toctree"] = toctree


def _sought(app: Sphinx, page: Any) -> None:
    """Add the phrases of a page to the index, and their words to those that the search finds."""
    if app.env.docname in app.config.sought:
        phrases = app.config.sought[app.env.docname].split("; ")
        page += meta(name="keywords", content=",".join(" ".join(phrases).split()))
        page += index(entries=[("single", each, "", "main", None) for each in phrases])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension before the theme."""
    app.add_config_value("sought", SOUGHT, "env")  # a change of which reads all pages again
    app.connect("doctree-read", _sought)
    app.connect("html-page-context", partial(_page_context, {}), priority=400)
    return {"parallel_read_safe": True, "version": "1"}
