"""Imports of a report's fork server (conformance/fork_server.py): modules that its kernels and its checks need."""

from __future__ import annotations

import builtins
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

PRELOAD = __name__
LIBRARIES = (
    "IPython.core.completerlib IPython.core.oinspect IPython.core.pylabtools "
    "IPython.extensions.storemagic ipykernel.debugger ipykernel.kernelapp ipykernel.ipkernel ipykernel.zmqshell "
    "matplotlib.backends.backend_agg matplotlib.pyplot pandas pandas.io.formats.html pandas.plotting._matplotlib "
    "psutil tornado.platform.asyncio"
)
# What libraries read at import has to be as in a kernel: where pictures go, and whether the debugger warns. Threads of
# a library for numbers would not survive a fork. Each kernel gets its own environment.
ENVIRONMENT = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


def prepare() -> None:
    """Import and initialize everything."""
    if (
        Path(sys.path[0]) == Path.cwd()
    ):  # as ipykernel's launcher does: it may hold files with names of libraries
        del sys.path[0]
    os.environ.update(ENVIRONMENT)
    # pandas asks at import whether it is in a kernel, by the name that IPython puts into what cells import.
    builtins.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    for name in LIBRARIES.split():
        import_module(name)
    import labkit.reporting.kernel_process
    import labkit.reporting.notebook  # noqa: F401
    from labkit.conformance import preload

    del builtins.get_ipython  # type: ignore[attr-defined]
    _draw()
    preload.prepare()


def _draw() -> None:
    """Draw a chart: matplotlib searches and reads fonts for its first one."""
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().set_title("°C, 2026", weight="bold")
    figure.savefig(io.BytesIO())
