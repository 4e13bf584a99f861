"""A program that keeps lab time standing is named, with what to do: the call that waits raises an error."""

from __future__ import annotations

import os
import platform
import select
import signal
import time
from pathlib import Path

import pytest

from labkit import FirmwareError, Lab, LabError
from labkit.lab.product import Product
from tests.firmware.programs import built, pid_of, python

START = 1_767_225_600


def refused(lab: Lab, text: str, within: float = 30) -> str:
    """Return the error of a call that moves the clock; lab time stands. within: real seconds, on a busy machine."""
    before, began = lab.clock.time, time.monotonic()
    with pytest.raises(LabError, match=text) as caught:
        lab.clock.advance(60)
    assert time.monotonic() - began < within
    assert lab.clock.time - before in (0, 10)
    return str(caught.value)


def test_a_program_that_ended(lab: Lab) -> None:
    run = lab.firmware(python("import time\nprint('bye')\ntime.sleep(10)\nraise SystemExit(3)"), identity="d")
    text = refused(
        lab, "firmware d: python ended with status 3 at 2026-01-01 00:00:10; it printed last: 'bye'"
    )
    assert "ends=True" in text
    assert lab.clock.time == START + 10
    run.restart()
    refused(lab, "ended with status 3 at 2026-01-01 00:00:20")


def test_lab_time_does_not_go_on_without_a_program_that_ended(lab: Lab, thermostat: Product) -> None:
    """Each call that moves lab time names it, until it is stopped."""
    from labkit.fleet.behaviours import Thermostat

    run = lab.firmware(python("import time\ntime.sleep(10)\nraise SystemExit(3)"), identity="d")
    fleet = thermostat.fleet(2, Thermostat())
    refused(lab, "firmware d: python ended with status 3")
    refused(lab, "firmware d: python ended with status 3")
    for moves in (
        lambda: lab.clock.advance_to(START + 60),
        lambda: fleet.run(minutes=5),
        lab.story().__enter__,
    ):
        with pytest.raises(FirmwareError, match=r"d: python ended .*; after run\.stop\(\) lab time goes on"):
            moves()
    assert lab.clock.time == START + 10
    assert "python ended with status 3 at 2026-01-01 00:00:10, 0 lines" in repr(lab.firmware.runs["d"])
    run.stop()
    lab.clock.advance(60)
    assert lab.clock.time == START + 70


def test_a_program_that_starts_again_later_is_not_missed(lab: Lab) -> None:
    run = lab.firmware(python("import time\ntime.sleep(10)\nraise SystemExit(3)"), identity="d")
    refused(lab, "ended with status 3")
    run.restart(down=100)
    lab.clock.advance(60)
    run.kill()
    lab.clock.advance(600)


def test_a_program_that_crashed(lab: Lab) -> None:
    lab.firmware(python("import os, time\ntime.sleep(10)\nos.abort()"))
    refused(lab, "ended by SIGABRT at 2026-01-01 00:00:10; it printed nothing")


def test_a_program_that_ends_at_its_start(lab: Lab) -> None:
    with pytest.raises(LabError, match=r"ended with status 2 .*; it printed last: 'usage: d'"):
        lab.firmware(python("import sys\nprint('usage: d')\nsys.exit(2)"))
    lab.reset()  # nothing is left of it


def test_the_error_of_a_start_has_what_the_program_printed(lab: Lab) -> None:
    """Nothing else shows it: the run is gone."""
    code = "print('one\\n' * 30 + 'config\\x1b: no such file')\nraise SystemExit(2)"
    with pytest.raises(FirmwareError) as caught:
        lab.firmware(python(code), identity="d")
    error = caught.value
    assert (error.identity, len(error.output)) == ("d", 20)
    assert [each.text for each in error.output[-2:]] == ["one", "config\x1b: no such file"]
    assert (note := error.__notes__[0]).startswith("python printed:\n  one\n")
    assert note.count("\n") == 20
    assert "\x1b" not in note
    shown = error._render_traceback_()
    assert shown[1] == note, "a cell shows it, too"
    assert lab.firmware.runs == {}


def test_what_a_program_prints_once_it_distrusts_the_lab(lab: Lab, thermostat: Product) -> None:
    with pytest.raises(FirmwareError, match="does not trust the lab's CA") as caught:
        lab.firmware([built("device", "-lcurl"), "d", "100"], identity="d", env={"SSL_CERT_FILE": None})
    assert isinstance(caught.value.output, tuple)


def test_a_program_that_somebody_killed(lab: Lab) -> None:
    run = lab.firmware(python("import time\ntime.sleep(1000)"))
    ended = os.pidfd_open(pid_of(run))
    os.kill(pid_of(run), signal.SIGKILL)
    select.select([ended], [], [])
    os.close(ended)
    refused(lab, "ended by SIGKILL")


def test_a_program_that_is_stopped(lab: Lab) -> None:
    run = lab.firmware(python("import time\nwhile True: time.sleep(10)"))
    pid = pid_of(run)
    os.kill(pid, signal.SIGSTOP)
    refused(lab, f"is stopped .*kill -CONT {pid}")
    os.kill(pid, signal.SIGCONT)
    lab.clock.advance(60)


def test_a_program_that_is_stopped_and_asked(lab: Lab, thermostat: Product) -> None:
    """It waits for a descriptor, about which the lab asks it once something has happened."""
    code = "import select, socket\nfirst, second = socket.socketpair()\nselect.select([first], [], [], 1000)"
    run = lab.firmware(python(code), ends=True)
    pid = pid_of(run)
    os.kill(pid, signal.SIGSTOP)
    device = thermostat.device("d").activate()
    refused(lab, f"is stopped .*kill -CONT {pid}")
    os.kill(pid, signal.SIGCONT)
    device.write(temperature=1)
    lab.clock.advance(60)
    assert run.ended is None


@pytest.mark.sampled
def test_a_program_that_spins(lab: Lab) -> None:
    run = lab.firmware(
        python("import time\ntime.sleep(10)\nend = time.time() + 1\nwhile time.time() < end: pass")
    )
    refused(lab, r"real seconds without a wait and asked for the time [\d,]+ times, so lab time stands still")
    run.kill()
    lab.clock.advance(60)


def test_a_program_that_waits_in_an_unknown_way(lab: Lab) -> None:
    code = (
        "import ctypes, time\n"
        "time.sleep(10)\n"
        "libc = ctypes.CDLL(None)\n"
        "queue = libc.msgget(0, 0o1600)\n"
        "libc.msgrcv(queue, ctypes.create_string_buffer(16), 8, 0, 0)\n"
    )
    run = lab.firmware(python(code))
    refused(lab, "waits in msgrcv, and the lab does not know when such a wait ends")
    run.stop()


def test_a_static_program(lab: Lab) -> None:
    with pytest.raises(LabError, match="is linked statically, so it cannot be on lab time"):
        lab.firmware([built("sleeper", "-static")])


def test_a_program_in_go(lab: Lab) -> None:
    """Also one that is linked dynamically, as with cgo."""
    with pytest.raises(LabError, match=r"is a program in Go, .* beside `labkit serve`"):
        lab.firmware([built("sleeper", "-DGO")])


def test_a_script_of_a_static_program(lab: Lab, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{built('sleeper', '-static')}\n")
    script.chmod(0o755)
    with pytest.raises(LabError, match="is linked statically"):
        lab.firmware([script])


def test_a_script_that_starts_a_static_program(lab: Lab) -> None:
    with pytest.raises(LabError, match=r"started what is not on lab time: .* is linked statically"):
        lab.firmware(["sh", "-c", f"{built('sleeper', '-static')}; true"])


def test_a_program_with_an_environment_of_its_own(lab: Lab) -> None:
    """The library passes on what it needs."""
    lab.firmware(["env", "-i", built("sleeper")])
    lab.clock.advance(60)


def test_a_program_that_lost_its_environment(lab: Lab) -> None:
    """By a system call, which the library does not see."""
    number = 221 if platform.machine() == "aarch64" else 59
    code = (
        "import ctypes\n"
        f"path = {built('sleeper')!r}.encode()\n"
        "words, none = (ctypes.c_char_p * 2)(path, None), (ctypes.c_char_p * 1)(None)\n"
        f"ctypes.CDLL(None).syscall({number}, path, words, none)\n"
    )
    with pytest.raises(LabError, match="without the variables LD_PRELOAD and LABKIT_FIRMWARE"):
        lab.firmware(python(code))


def test_a_device_that_does_not_trust_the_ca(lab: Lab, thermostat: Product) -> None:
    with pytest.raises(LabError, match=r"firmware d: device does not trust the lab's CA.*CURLOPT_CAINFO"):
        lab.firmware([built("device", "-lcurl"), "d", "100"], identity="d", env={"SSL_CERT_FILE": None})


def test_in_a_story(lab: Lab) -> None:
    with lab.story():
        lab.firmware(python("import time\ntime.sleep(10)\nraise SystemExit(3)"))
        for _ in range(2):
            with pytest.raises(FirmwareError, match="ended with status 3"):
                lab.wait(seconds=60)
    assert lab.clock.time == START + 10


def test_with_a_fleet(lab: Lab, thermostat: Product) -> None:
    from labkit.fleet.behaviours import Thermostat

    lab.firmware(python("import time\ntime.sleep(90)\nraise SystemExit(3)"))
    with pytest.raises(LabError, match="ended with status 3"):
        thermostat.fleet(2, Thermostat()).run(minutes=5)
    assert lab.clock.time == START + 90
