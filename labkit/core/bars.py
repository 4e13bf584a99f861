"""Progress bars, shown if tqdm is installed."""

from __future__ import annotations

from typing import Any, Protocol, Self


class Bar(Protocol):
    """The part of tqdm's bar that labkit uses."""

    def update(self, n: float = 1) -> object: ...
    def set_description_str(self, desc: str, refresh: bool = True) -> object: ...
    def set_postfix_str(self, s: str, refresh: bool = True) -> object: ...
    def close(self) -> object: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: Any) -> object: ...


class NoBar:
    """A bar without any output."""

    def update(self, n: float = 1) -> None: ...
    def set_description_str(self, desc: str, refresh: bool = True) -> None: ...
    def set_postfix_str(self, s: str, refresh: bool = True) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...


def progress_bar(**options: Any) -> Bar:
    """Return a progress bar on stderr. options: keyword arguments of `tqdm.tqdm`."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return NoBar()
    bar: Bar = tqdm(**options)
    return bar
