"""Counter of function calls in this process, by Python's profiling hook."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from labkit.bench.control import Answer

# Functions that run as often as real time has it, and not once for each request: on a busy machine more often.
REAL_TIME = frozenset({"SlowCalls.late", "SlowCalls._beat"})


class CallCounter:
    """Counter of calls of Python functions and of C functions between `start` and `stop`.

    The caller installs `profile` by `sys.setprofile`, or by `threading.setprofile` for threads that start later.
    """

    def __init__(self) -> None:
        self._counting = False
        self._python = self._c = self._left_out = 0

    def profile(self, frame: FrameType, event: str, argument: object) -> None:
        """Count a call, unless one of REAL_TIME makes it: the hook for `sys.setprofile` and `threading.setprofile`."""
        if event in ("call", "return") and frame.f_code.co_qualname in REAL_TIME:
            self._left_out += 1 if event == "call" else -1
        elif self._counting and not self._left_out:
            if event == "call":
                self._python += 1
            elif event == "c_call":
                self._c += 1

    def start(self) -> None:
        """Reset the counts and start counting, on the threads that have this hook."""
        self._python = self._c = 0
        self._counting = True

    def stop(self) -> dict[str, int]:
        """Stop counting, and return the numbers of calls: python and c."""
        self._counting = False
        return {"python": self._python, "c": self._c}

    def commands(self) -> dict[str, Any]:
        """Return the commands of a child process (`control.serve_commands`) that count calls on its event loop."""

        async def count() -> Answer:
            sys.setprofile(self.profile)
            self.start()
            return {}

        async def counted() -> Answer:
            found = self.stop()
            sys.setprofile(None)
            return found

        return {"count": count, "counted": counted}
