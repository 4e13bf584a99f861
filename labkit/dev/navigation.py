"""Sphinx extension: the navigation tree of all pages is resolved once, not once for each page.

The theme shows the whole tree on each page. Sphinx resolves it anew each time, which takes more than half of a build.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment.adapters.toctree import global_toctree_for_doc


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension before the theme."""
    app.connect("html-page-context", partial(_page_context, {}), priority=400)
    return {"parallel_read_safe": True, "version": "1"}
