"""Scripts that run fleets over worker processes: interrupts, and a missing `__main__` guard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import ran

pytestmark = [
    pytest.mark.sampled,
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore"),  # warnings of dask itself
]

SCRIPT = """
import sys
from labkit import Behaviour, Lab

class Reports(Behaviour):
    async def run(self, device):
        while True:
            await device.write(count=1)
            await device.sleep(0.1)

def play():
    with Lab(products=[{"id": "meter", "resources": {"count": "number"}}]) as lab:
        fleet = lab.product("meter").fleet(4, Reports)
        run = fleet.start(every=0.2, accounts=True, workers=2)
        run.on_tick(lambda tick: print("tick", flush=True) if tick.requests else None)
        try:
            run.wait()
        except KeyboardInterrupt:
            print("interrupted", run.summary, flush=True)

"""


def test_an_interrupt_of_all_processes_ends_the_run_cleanly(tmp_path: Path) -> None:
    """As a terminal and a kernel send it: also to the workers."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + 'if __name__ == "__main__":\n    play()\n')
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as played:
        assert played.stdout is not None
        assert played.stdout.readline() == "tick\n"
        os.killpg(played.pid, signal.SIGINT)
        output, error = played.communicate(timeout=60)
    assert played.returncode == 0, error
    [said] = [line for line in output.splitlines() if line != "tick"]
    assert said.startswith("interrupted 4 devices, ")
    assert "died" not in said
    assert ": 0 lost, 0 doubled" in said
    assert "Traceback" not in error


def test_a_script_without_a_guard_gets_an_error_that_names_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("workers=2", "workers=1") + "play()\n")
    played = ran(sys.executable, script)
    assert played.returncode == 1
    assert "LabError: workers: no process of them starts" in played.stderr
    assert "so a script does this below `if __name__ == '__main__':`" in played.stderr
