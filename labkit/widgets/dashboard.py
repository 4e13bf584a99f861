"""Base class of the dashboards: display in a cell, periodic refresh, and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.widgets.output import Output, check_jupyter
from labkit.widgets.updates import Updates


class Dashboard:
    """A live view, displayed as the value of a cell. Raises LabError if Jupyter's libraries are missing."""

    widget: Any

    def __init__(self) -> None:
        check_jupyter()
        self.closed = False
        self._updates = Updates(self.refresh)
        self._output: Output
        self._ending: list[Callable[[], object]] = []

    def refresh(self) -> None:
        """Show the present state. Call this on the kernel's thread."""
        raise NotImplementedError

    def _picture(self) -> bytes:
        """Return the present state as a PNG."""
        raise NotImplementedError

    def _words(self) -> str:
        """Return the present state in words, for those who cannot see its picture."""
        raise NotImplementedError

    def _shown_by(self, widget: Any) -> None:
        """Use `widget` as the dashboard's widget."""
        self.widget = widget
        self._output = Output(widget, self._picture, self._words, self.__repr__, self.refresh)

    def at_end(self, function: Callable[[], object]) -> None:
        """Call a function when the dashboard is closed, on the thread that closes it."""
        self._ending.append(function)

    def close(self) -> None:
        """End the live view, of which a picture remains. Any thread may call this; the lab does when it is closed."""
        if self.closed:
            return
        self.closed = True
        while self._ending:
            self._ending.pop()()
        self._output.close()
        self._updates.call(self._output.update)

    def _ipython_display_(self) -> None:
        self.refresh()
        self._output.show()
