"""Runtimes of other languages on lab time, unchanged."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.firmware.preload.side import Side

PYTHON = """
import asyncio, queue, subprocess, sys, threading, time, os, selectors, socket
def show(what): print(what, round(time.time() - 1_800_000_000, 3), round(time.monotonic() - 1000, 3))
time.sleep(3600); show("sleep")
show(threading.Event().wait(30))
event = threading.Event(); threading.Timer(5, event.set).start(); show(event.wait(30))
try: queue.Queue().get(timeout=2.5)
except queue.Empty: show("empty")
lock = threading.Lock(); lock.acquire(); show(lock.acquire(timeout=4))
async def main():
    await asyncio.sleep(10); show("asyncio")
    done = await asyncio.gather(*(asyncio.sleep(each, each) for each in (3, 1, 2))); show(done)
    try: await asyncio.wait_for(asyncio.Event().wait(), 7)
    except TimeoutError: show("timeout")
    await asyncio.to_thread(time.sleep, 5); show("thread")
asyncio.run(main())
from concurrent.futures import ThreadPoolExecutor
order = []
def work(n):
    for i in range(3): order.append(n); time.sleep(1)
with ThreadPoolExecutor(4) as pool: list(pool.map(work, range(4)))
show(order)
show(subprocess.run(["sleep", "60"]).returncode)
try: subprocess.run(["sleep", "60"], timeout=20)
except subprocess.TimeoutExpired: show("expired")
show(subprocess.run([sys.executable, "-c", "import time; time.sleep(9); print(7)"], capture_output=True,
    text=True).stdout.strip())
show(os.urandom(8).hex())
"""
SHOWN = """sleep 3600.0
False 3630.0
True 3635.0
empty 3637.5
False 3641.5
asyncio 3651.5
[3, 1, 2] 3654.5
timeout 3661.5
thread 3666.5
[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3] 3669.5
0 3729.5
expired 3749.5
7 3758.5
""".splitlines()


def test_python(tmp_path: Path, preloaded: Path) -> None:
    outputs = []
    for n in range(2):
        side = Side(tmp_path / str(n), preloaded)
        try:
            side.start([sys.executable, "-c", PYTHON], seed="5", env={"PYTHONHASHSEED": "5"})
            outputs.append(side.live().splitlines())
        finally:
            side.close()
    assert outputs[0][:-1] == [f"{each} {each.rsplit(' ', 1)[1]}" for each in SHOWN]
    assert outputs[0] == outputs[1]


NODE = """
const began = Date.now(); const show = what => console.log(what, (Date.now() - began) / 1000);
setTimeout(() => show("timeout"), 60000);
let n = 0; const t = setInterval(() => { show("interval"); if (++n == 3) clearInterval(t) }, 25000);
(async () => {
  await require("timers/promises").setTimeout(86400000); show("day");
  await require("fs/promises").readFile("/etc/hostname"); show("file");
  const { execFile } = require("child_process");
  execFile("sleep", ["30"], () => show("child"));
})();
"""


def test_node(side: Side) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    side.start([node, "-e", NODE], seed="5", env={"UV_USE_IO_URING": "0"})
    assert side.live().splitlines() == [
        "interval 25", "interval 50", "timeout 60", "interval 75", "day 86400", "file 86400", "child 86430",
    ]  # fmt: skip
