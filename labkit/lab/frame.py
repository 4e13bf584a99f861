"""DataFrame whose error about a missing column names the columns that it has. Imported where pandas is installed."""

from __future__ import annotations

from html import escape
from typing import Any

import pandas

from labkit.core.errors import NoEntryError, unknown


class DataFrame(pandas.DataFrame):
    """A DataFrame of a lab. What pandas makes of it is an ordinary DataFrame."""

    def _repr_html_(self) -> str | None:
        """Return the table as HTML, or a sentence in its place if it has no rows."""
        if len(self) or not len(self.columns):
            return super()._repr_html_()  # type: ignore[misc, no-any-return]
        return f"<i>no rows; columns: {escape(', '.join(map(str, self.columns)))}</i>"

    def __getitem__(self, key: Any) -> Any:
        """Return a column, or what else pandas returns for a key. Raises NoEntryError, also a KeyError."""
        __tracebackhide__ = True  # for pytest
        try:
            return super().__getitem__(key)
        except KeyError:
            named = key if isinstance(key, list) else [key]
            wrong = next((each for each in named if each not in self.columns), key)
            text = unknown("column", wrong, map(str, self.columns))
        raise NoEntryError(text)


def with_columns_named(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return a frame with the same data whose error about a missing column names the columns."""
    named = DataFrame(frame)
    named.attrs = frame.attrs
    return named
