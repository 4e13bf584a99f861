"""What the dashboards have in common: they show themselves, look again now and then, and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.widgets.output import Output, check_jupyter
from labkit.widgets.updates import Updates


class Dashboard:
    """A live view. Let a cell show it. Raises LabError where Jupyter's libraries are missing."""

    widget: Any

    def __init__(self) -> None:
        check_jupyter()
        self.closed = False
        self._updates = Updates(self.refresh)
        self._output: Output
        self._ending: list[Callable[[], object]] = []

    def refresh(self) -> None:
        """Show the present state; on the kernel's thread alone."""
        raise NotImplementedError

    def _picture(self) -> bytes:
        """The present state as a PNG."""
        raise NotImplementedError

    def _shown_by(self, widget: Any) -> None:
        """This is what it is made of."""
        self.widget = widget
        self._output = Output(widget, self._picture, self.__repr__, self.refresh)

    def at_end(self, function: Callable[[], object]) -> None:
        """Call a function when it is closed, on whatever thread."""
        self._ending.append(function)

    def close(self) -> None:
        """Watch no longer: what stays is the picture. Any thread may call it; the end of the lab does."""
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
