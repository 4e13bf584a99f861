"""A program's surroundings: its environment, names and chance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit import Lab, LabError
from labkit.firmware.environment import CA_VARIABLES, environment
from tests.firmware.programs import python

PRINT = "import json, os, time\nprint(json.dumps(dict(os.environ)))\ntime.sleep(1000)"


def variables(lab: Lab, env: dict[str, str | None] | None = None) -> dict[str, str]:
    run = lab.firmware(python(PRINT), env=env, seed=3)
    found: dict[str, str] = json.loads(run.output[0].text)
    run.stop()
    return found


def test_the_environment_of_a_program(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "SSL_CERT_DIR", "LD_PRELOAD"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("KEPT", "ä")
    found = variables(lab, {"OWN": "1", "TZ": None, "SSL_CERT_FILE": "mine.pem"})
    assert (found["KEPT"], found["OWN"], found["SSL_CERT_FILE"]) == ("ä", "1", "mine.pem")
    assert not {"HTTPS_PROXY", "https_proxy", "SSL_CERT_DIR", "TZ"} & found.keys()
    assert found["NO_PROXY"] == found["no_proxy"] == "*"
    assert found["UV_USE_IO_URING"] == "0"
    assert len({found[name] for name in CA_VARIABLES if name != "SSL_CERT_FILE"}) == 1


def test_another_preloaded_library_stays() -> None:
    given = {"LD_PRELOAD": "libother.so"}
    for outer, own in ((given, {}), ({}, given)):
        made = environment(
            outer, own, library=Path("/l.so"), folder=Path("/f"), ca_file=Path("/ca.pem"), seed=2**40 + 5
        )
        assert made["LD_PRELOAD"] == "/l.so libother.so"
        assert (made["PYTHONHASHSEED"], made["LABKIT_FIRMWARE_SEED"]) == ("5", str(2**40 + 5))


@pytest.mark.parametrize("env", [["A=1"], {"A": 1}, {"A=B": "1"}, {"": "1"}, {1: "1"}])
def test_variables_that_are_none(lab: Lab, env: object) -> None:
    with pytest.raises(LabError, match="env: expected"):
        lab.firmware(python(PRINT), env=env)  # type: ignore[arg-type]


def test_names_are_kept_current(lab: Lab) -> None:
    """A host that is added while the program runs is found, as are its ports."""
    code = (
        "import socket, time\n"
        "while True:\n"
        "  try: print(socket.getaddrinfo('my.device.example', 443)[0][4][0])\n"
        "  except OSError as error: print('unknown')\n"
        "  with socket.create_connection(('thermostat.m2.lab.localhost', 443)): print('connected')\n"
        "  time.sleep(10)\n"
    )
    lab.product("thermostat", resources={"temperature": "number"})
    lab.product("p", domain="my.device.example", resources={"temperature": "number"})
    run = lab.firmware(python(code))
    assert [each.text for each in run.output] == ["127.0.0.1", "connected"]
    lab.solution("acme")
    lab.clock.advance(10)
    assert len(run.output) == 4


@pytest.mark.sampled
@pytest.mark.parametrize(
    "draw", ["random.random()", "os.urandom(4)", "hash('text')", "uuid.uuid4()", "id(object())"]
)
def test_chance_comes_from_the_seed(draw: str) -> None:
    code = f"import os, random, uuid, time\nprint({draw})\ntime.sleep(1000)"

    def drawn(seed: int, lab_seed: int = 7, identity: str = "d") -> list[str]:
        with Lab(seed=lab_seed) as lab:
            run = lab.firmware(python(code), identity=identity, seed=None if seed < 0 else seed)
            run.restart()
            return [each.text for each in run.output]

    assert drawn(3) == drawn(3, lab_seed=8, identity="e")
    assert drawn(-1) == drawn(-1)
    if draw != "id(object())":
        assert len({*drawn(3), *drawn(4), *drawn(-1), *drawn(-1, identity="e"), *drawn(-1, lab_seed=8)}) == 10
