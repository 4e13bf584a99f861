"""Live view in the output of a cell, with a picture of its last state for pages where no widget runs."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable
from typing import Any

from labkit.core.extras import check_installed

VIEW = "application/vnd.jupyter.widget-view+json"
NEEDED = ("IPython", "bqplot", "ipywidgets", "matplotlib", "pandas")


def check_jupyter() -> None:
    """Raise LabError if the libraries of a dashboard are not installed."""
    check_installed("lab", "a dashboard takes", *NEEDED)


class Output:
    """Outputs of cells that show a widget, together with a PNG and a text of its state.

    picture, words, text: return the PNG, its alternative text, and the text for pages without pictures, which `update`
    puts into every output. refresh: called when a cell ends, since the cell may have changed the state.
    """

    def __init__(
        self,
        widget: Any,
        picture: Callable[[], bytes],
        words: Callable[[], str],
        text: Callable[[], str],
        refresh: Callable[[], object],
    ) -> None:
        self._refresh = refresh
        self._widget = widget
        self._picture = picture
        self._words = words
        self._text = text
        self._names = itertools.count(1)
        self._shown: list[str] = []
        self._stale = False
        self._closed = False
        self._hooked: Any = None  # the shell, which calls back when a cell ends

    def show(self) -> None:
        """Show the widget in the running cell."""
        from IPython.display import display

        name = f"labkit-{id(self)}-{next(self._names)}"
        display(self._bundle(), metadata=self._metadata(), raw=True, display_id=name)
        self._shown.append(name)
        self._hook()

    def outdate(self) -> None:
        """Mark the picture as outdated: the next `update`, or end of a cell, draws it again."""
        self._stale = True

    def close(self) -> None:
        """End the live view: the next `update` leaves only the picture. Any thread may call this."""
        self._closed = self._stale = True

    def update(self) -> None:
        """Put the present picture into all outputs, if it is outdated. Call this on the kernel's thread."""
        if not self._stale:
            return
        self._stale = False
        if self._shown:
            from IPython.display import update_display

            bundle, metadata = self._bundle(), self._metadata()
            for name in self._shown:
                update_display(bundle, metadata=metadata, raw=True, display_id=name)
        if self._closed:
            self._release()

    def _bundle(self) -> dict[str, Any]:
        bundle: dict[str, Any] = {
            "text/plain": self._text(),
            "image/png": base64.b64encode(self._picture()).decode(),
        }
        if not self._closed:
            bundle[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        return bundle

    def _metadata(self) -> dict[str, Any]:
        return {"image/png": {"alt": self._words()}}

    def _hook(self) -> None:
        """Redraw an outdated picture when a cell ends, for clients that listen only during cells, such as papermill."""
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is not None and self._hooked is None:
            shell.events.register("post_run_cell", self._cell_ended)
            self._hooked = shell

    def _cell_ended(self, *_: object) -> None:
        self._refresh()
        self.update()

    def _release(self) -> None:
        """Close the widgets, which ipywidgets otherwise keeps alive with all objects that their buttons refer to."""
        if self._hooked is not None:
            self._hooked.events.unregister("post_run_cell", self._cell_ended)
            self._hooked = None
        for each in _tree(self._widget):
            each.close()


def _tree(widget: Any) -> list[Any]:
    """Return a widget and all widgets inside of it."""
    found = [widget]
    for name in ("children", "marks", "axes"):
        for each in getattr(widget, name, ()):
            found += _tree(each)
    scales = getattr(widget, "scales", {})
    return [*found, *scales.values()]
