"""A lab that takes the arguments of `Lab`, and runs in a `labkit serve` of its own."""

from __future__ import annotations

import tempfile
import weakref
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from labkit.control.clock import Moment, seconds_of
from labkit.control.over_http.remote import RemoteControl
from labkit.lab.lab import Lab
from labkit.lab.runtime import Runtime
from labkit.lab.server_process import server_process


class ServedLab(Lab):
    """A connection to a lab that it starts in another process and ends with `close`, with the arguments of `Lab`.

    Whatever works with it works from another process, too.
    """

    def __init__(
        self,
        seed: int | None = None,
        *,
        config: str | Path | None = None,
        speed: float | None = None,
        start: Moment | None = None,
        **settings: Any,
    ) -> None:
        given = {
            "--seed": seed,
            "--speed": speed,
            "--start": None if start is None else seconds_of(start, "start"),
        }
        arguments = [
            text for name, value in given.items() if value is not None for text in (name, repr(value))
        ]
        stack = ExitStack()
        self._end_server = weakref.finalize(self, stack.close)
        try:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="labkit-served-")))
            control = ["--control", "--log", "none"]
            ready = stack.enter_context(server_process(folder, config, settings, [*control, *arguments]))
            access = ready["control"]
            self._hold(Runtime(partial(RemoteControl.connect, access["url"], access["token"])))
        except BaseException:
            self._end_server()
            raise

    def close(self) -> None:
        """Close the connection, and end the lab. A second call does nothing."""
        super().close()
        self._end_server()
