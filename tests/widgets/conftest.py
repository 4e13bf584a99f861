"""Fixtures of charts."""

import pytest
from matplotlib.figure import Figure

from labkit.widgets import charts


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures of charts, which are recorded instead of shown."""
    found: list[Figure] = []

    def show(figure: Figure, _frame: object) -> None:
        figure.canvas.draw()
        found.append(figure)

    monkeypatch.setattr(charts, "show", show)
    return found
