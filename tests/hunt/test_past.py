"""Plays and hunts that continue a snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import Lab, LabError
from labkit.hunt import Draw, Story, hunt, play, story
from labkit.hunt.plays.replaying import replay
from labkit.hunt.plays.written import read
from tests.lab.story_parts import Reports, product_of

COUNT = "Keystore.command{key = 'n', command = 'incr'}"


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of a lab in which two products of two solutions have lived for an hour, with equal identities."""
    with Lab(seed=31) as lab:
        for name in ("thermostat", "lamp"):
            product = product_of(lab, name)
            app = lab.solution(f"{name}-app", products=[product])
            app.on("device", "datapoint", lua=COUNT)
            product.fleet(3, Reports, prefix="d").run(hours=1)
        return lab.save(tmp_path_factory.mktemp("past") / "hour ä.lab", journal=False)


def told(past: Path, limit: int = 190) -> Story:
    @story(past=past)
    def goes_on(lab: Lab, draw: Draw) -> tuple[float, int]:
        began = lab.clock.time
        product = lab.product("thermostat")
        people = draw.number(1, 3)
        product.fleet(people, Reports, prefix="d", keep=True).start(minutes=10).wait()
        app = lab.solution("thermostat-app")
        count = int(str(app.Keystore.get(key="n")["value"]))
        assert count < limit, f"counted {count}"
        return began, count

    return goes_on


def test_a_play_continues_the_past(past: Path) -> None:
    first, again = (play(told(past, 1000), 5) for _ in range(2))
    assert first == again
    assert isinstance(first.result, tuple)
    began, count = first.result
    assert count > 183  # 180 of the hour before
    with Lab(seed=31) as lab:
        assert began == lab.clock.time + 7200
    counts = {play(told(past, 1000), seed).result for seed in range(4)}
    assert len(counts) > 1


@pytest.mark.usefixtures("forks")
def test_a_hunt_over_processes_continues_the_past(past: Path) -> None:
    found = hunt(told(past, 205), seeds=12, workers=2, level="calm", stop="never")
    [failure] = found.failures.values()
    assert failure.smallest is not None
    assert failure.smallest.breach.reason.startswith("counted 2")
    kept, broken = len(found.frame()), len(failure.numbers)
    assert 0 < broken < kept == 12


def test_a_written_play_continues_the_past_beside_its_story(tmp_path: Path, past: Path) -> None:
    (tmp_path / "past.lab").write_bytes(past.read_bytes())
    (tmp_path / "stories.py").write_text(
        "from labkit.hunt import story\n\n\n@story(past='past.lab')\ndef counts(lab, draw):\n"
        "    assert lab.solution('lamp-app').Keystore.get(key='n')['value'] == '0', 'counted before'\n"
    )
    from labkit.hunt.plays.loading import load_story

    found = hunt(load_story(f"{tmp_path}/stories.py::counts"), seeds=1, workers=0, level="calm")
    file = next(iter(found.failures.values())).save(tmp_path / "failures")
    outcome = replay(read(file), beside=file, check=False)
    assert (outcome.is_exact, outcome.breach is None) == (True, False)


def test_a_past_that_is_none_is_refused_in_a_sentence(tmp_path: Path, past: Path) -> None:
    with pytest.raises(LabError, match=r"restore: cannot read .*missing\.lab: No such file"):
        play(told(tmp_path / "missing.lab"), 1)
    other = tmp_path / "other.lab"
    for content, text in (
        (b"x", "expected a snapshot of labkit, not 1 byte"),
        (b"x" * 4096, "this is no snapshot of labkit"),
        (past.read_bytes()[:-4096], "damaged|no snapshot"),
    ):
        other.write_bytes(content)
        with pytest.raises(LabError, match=text):
            play(told(other), 1)
