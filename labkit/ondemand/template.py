"""Template: a process with a started and suspended platform, which forks a lab for each order.

A fork server (conformance/fork_server.py) that has imported this module forks the templates. A template has one thread,
and no event loop while it forks: neither survives a fork.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
from base64 import b64decode
from contextlib import suppress
from functools import partial

from labkit.control.control import Control
from labkit.control.over_http.listener import control_listener
from labkit.control.over_http.openapi import document_json
from labkit.control.over_http.problem import problem_of
from labkit.core.errors import LabError, LabkitError
from labkit.core.process import loop_factory, serve_for_long
from labkit.ondemand.process import LabRecipe, serve
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings
from labkit.solutions.lua.runtime import luajit

READY, ORDER = b"+", b"+"


def prepare() -> None:
    """Do slow first-time work before any fork: start a platform, and make the types of all operations."""
    os.environ["OPENBLAS_NUM_THREADS"] = (
        "1"  # of numpy, should something import it: no thread survives a fork
    )
    with suppress(ImportError):
        luajit()
    document_json()

    async def try_out() -> None:
        platform = await Platform(LabSettings(https_port=0, proxy_port=0), seed=0).start()
        async with control_listener(platform, ControlSettings()):
            await platform.settle()
        await platform.stop()

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(try_out())


def run(argument: str, _: object) -> None:
    """Be a template until standard input, a socket that brings orders, ends. argument: a LabRecipe, pickled, in base64.

    It sends READY, or problem details. An order brings the socket of a lab's process.
    """
    recipe: LabRecipe = pickle.loads(b64decode(argument))
    orders = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        try:
            platform = runner.run(_suspended(recipe))
        except LabkitError as error:
            orders.sendall(problem_of(error).body())
            return
    serve_for_long()  # else each lab would copy all objects when it collects garbage
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system removes the processes that have ended
    orders.sendall(READY)
    while files := socket.recv_fds(orders, 1, 1)[1]:
        with socket.socket(fileno=files[0]) as channel:
            try:
                pid = os.fork()
            except OSError as error:
                refused = problem_of(LabError(f"no process for another lab: {error.strerror}"))
                channel.sendall(b"-%b\n" % refused.body())
                continue
            if pid == 0:
                orders.close()
                os.setsid()  # the end of the template is not the lab's
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                serving = serve(partial(_resumed, platform), recipe.files, channel.dup())
                channel.detach()  # it is closed with the process: the starter then knows that it has ended
                with asyncio.Runner(loop_factory=loop_factory()) as runner:
                    runner.run(serving)
                return
    with suppress(ChildProcessError):  # once none of its labs is left
        os.wait()


async def _suspended(recipe: LabRecipe) -> Platform:
    platform = await recipe.start()
    try:
        await Control(platform).prepare_fork(platform.settle)
    except BaseException:
        await platform.stop()
        raise
    return platform


async def _resumed(platform: Platform) -> Platform:
    await platform.resume()
    return platform
