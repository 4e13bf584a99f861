"""Process ids of a program: its own where the system allows PID namespaces, the same in each run of a seed."""

from __future__ import annotations

import json
import shutil
import sys

import pytest

from labkit import Lab
from tests.firmware.programs import built, python
from tests.rig import ran

# dash tells of the killed job on standard error, but not each time, by real time, also without a lab.
SH = """
echo $$; echo $$ > file; readlink /proc/$$/exe > /dev/null || echo unknown
trap 'echo term' TERM; kill $(cat file); sleep 5 & echo $!; wait $!; echo $?
sleep 100 & sleep 1; { kill $!; wait $!; } 2>/dev/null; echo $?; kill 1; trap - TERM; kill $$; sleep 1
"""
PYTHON = """
import os, signal, subprocess, threading, time
print(os.getpid(), os.readlink("/proc/self"), sep="\\n")
thread = threading.Thread(target=lambda: print(threading.get_native_id())); thread.start(); thread.join()
child = subprocess.Popen(["sleep", "100"]); print(child.pid); time.sleep(1); child.terminate(); print(child.wait())
print(os.getuid() == os.stat("/proc/self").st_uid)
os.kill(os.getpid(), signal.SIGSEGV)
"""
NODE = """
const { spawn } = require("child_process"), { readlinkSync } = require("fs");
console.log(process.pid + "\\n" + readlinkSync("/proc/self"));
process.on("SIGUSR2", () => {
  const child = spawn("sh", ["-c", "echo $$; sleep 5; exit 6"], { stdio: "inherit" });
  child.on("exit", status => { console.log(child.pid + "\\n" + status); process.kill(process.pid, "SIGKILL") });
});
process.kill(process.pid, "SIGUSR2"); setTimeout(() => 0, 100000);
"""


def lives() -> dict[str, list[str]]:
    """Return what programs of several languages print, and how they end; one of them also with another seed."""
    commands = {
        "c": [built("pids")],
        "c, another seed": [built("pids")],
        "python": python(PYTHON),
        "sh": ["sh", "-c", SH],
        "node": ["node", "-e", NODE],
    }
    found = {}
    with Lab(seed=7) as lab:
        for name, command in commands.items():
            if shutil.which(command[0]):
                run = lab.firmware(command, identity=name, seed=len(name), ends=True, fresh=True)
                lab.clock.advance(600)
                assert run.ended is not None
                found[name] = [*(each.text for each in run.output), run.ended.how]
    return found


def lived(*before: str) -> tuple[dict[str, list[str]], str]:
    """Return the result of `lives` in another process, and its warnings. before: words before its command."""
    if ran("unshare", "-Ur", "--pid", "true").returncode:
        pytest.skip("this system allows no PID namespaces")
    code = "import json; from tests.firmware import test_pids as t; print(json.dumps(t.lives()))"
    done = ran(*before, sys.executable, "-c", code, check=True)
    return json.loads(done.stdout), done.stderr


def said(first: int, *more: object, end: str) -> list[str]:
    return [*map(str, [first, *more]), f"ended by {end}"]


def test_a_program_has_process_ids_of_its_own() -> None:
    """The first one is drawn from the seed. This user may be root; an ordinary one gets the same."""
    found, warnings = lived()
    firsts = [int(lines[0]) for lines in found.values()]
    c, _, python, sh, *_ = firsts
    jitter = found["c"][2]
    assert found["c"] == said(c, c, jitter, "signal 10", "signal 10", c + 1, "child of 1", end="SIGTERM")
    assert found["python"] == said(python, python, python + 1, python + 2, -15, True, end="SIGSEGV")
    assert found["sh"] == said(sh, "term", sh + 3, 0, 143, end="SIGTERM")
    if "node" in found:
        node, child = firsts[-1], int(found["node"][2])
        assert found["node"] == said(node, node, child, child, 6, end="SIGKILL")
    assert len(set(firsts)) == len(firsts)
    assert jitter != found["c, another seed"][2]
    assert warnings == ""
    assert lived("unshare", "-U", "--map-user=1000", "--map-group=1000") == (found, "")


def test_where_the_system_forbids_them_there_is_one_warning() -> None:
    forbidden = 'echo 0 > /proc/sys/user/max_pid_namespaces; exec "$@"'
    found, warnings = lived("unshare", "-Ur", "sh", "-c", forbidden, "sh")
    assert warnings.count("LabWarning: firmware: programs have process ids of the system") == 1
    assert [lines[-1] for lines in found.values()][:4] == [
        f"ended by SIG{each}" for each in ("TERM", "TERM", "SEGV", "TERM")
    ]
