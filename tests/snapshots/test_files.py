"""Files of snapshots: what is kept, and what is refused in a sentence, with nothing changed."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, TakenError, Thermostat
from labkit.control.control import Control
from labkit.settings import LabSettings
from labkit.snapshots import states
from labkit.snapshots.content import APPLICATION, DIGEST
from tests.sizes import size
from tests.snapshots.told import DEVICE, begin, tell


@pytest.fixture(scope="module")
def content() -> bytes:
    with begin() as lab:
        tell(lab, [("fault", 0, 1), ("write", 0, 3), ("phone", 1, 2)])
        return lab.snapshot().content


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as made:
        made.product("own", resources={"a": "string"}).device("d").activate().write(a="kept")
        yield made


def expect_refused(lab: Lab, path: Path, text: str) -> None:
    """Check that a file is refused with this text, and that the lab is as before."""
    before, records = lab.snapshot().content, lab.journal.canonical()
    with pytest.raises(LabError, match=text):
        lab.restore(path)
    assert lab.snapshot().content == before
    assert lab.journal.canonical() == records
    assert lab.product("own").device("d").read("a") == {"a": "kept"}


def changed(content: bytes, path: Path, *statements: str) -> Path:
    path.write_bytes(content)
    raw = sqlite3.connect(path, isolation_level=None)
    for each in statements:
        raw.execute(each)
    raw.close()
    return without_digest(path)


def without_digest(path: Path) -> Path:
    """Make a snapshot one of an older labkit, or of somebody who knows how it is protected."""
    found = bytearray(path.read_bytes())
    found[DIGEST] = bytes(DIGEST.stop - DIGEST.start)
    path.write_bytes(found)
    return path


def with_state(content: bytes, path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    path.write_bytes(content)
    raw = sqlite3.connect(path, isolation_level=None)
    [text] = raw.execute("SELECT value FROM labkit_snapshot WHERE key = 'state'").fetchone()
    state = json.loads(text)
    change(state)
    raw.execute("UPDATE labkit_snapshot SET value = ? WHERE key = 'state'", (json.dumps(state),))
    raw.close()
    return without_digest(path)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "expected a snapshot of labkit, not 0 bytes"),
        (b"x" * 600, "this snapshot is damaged: file is not a database"),
        (b"SQLite format 3\0" + b"\0" * 5000, "damaged"),
    ],
)
def test_what_is_no_snapshot(lab: Lab, tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "past.lab"
    path.write_bytes(data)
    expect_refused(lab, path, text)


def test_a_file_that_is_not_there(lab: Lab, tmp_path: Path) -> None:
    expect_refused(lab, tmp_path / "none", "^restore: cannot read .*none: No such file or directory$")
    expect_refused(lab, tmp_path, "Is a directory")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file(lab: Lab, tmp_path: Path, content: bytes, part: float) -> None:
    path = tmp_path / "past.lab"
    path.write_bytes(content[: int(len(content) * part)])
    expect_refused(lab, path, "^restore: this snapshot is damaged")


def test_each_flipped_bit_is_refused(lab: Lab, tmp_path: Path, content: bytes) -> None:
    path, draw = tmp_path / "past.lab", random.Random(7)
    for _ in range(size(60, 2000)):
        flipped = bytearray(content)
        flipped[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(LabError, match=r"^restore: this (snapshot is|is no snapshot)"):
            lab.restore(path)


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.95])
def test_flipped_bytes_without_a_digest_are_refused_or_harmless(
    tmp_path: Path, content: bytes, part: float
) -> None:
    path, at = tmp_path / "past.lab", int(len(content) * part)
    path.write_bytes(
        content[:at] + bytes(each ^ 0xFF for each in content[at : at + 200]) + content[at + 200 :]
    )
    without_digest(path)
    with Lab(seed=7) as lab:
        before = lab.snapshot().content
        try:
            lab.restore(path)
        except LabError:
            assert lab.snapshot().content == before
        else:
            assert lab.solution("acme").get("/count").status_code == 200


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        (
            ["PRAGMA user_version=2"],
            "this snapshot is of version 2, and labkit .* reads version 1; expected one",
        ),
        (["PRAGMA application_id=1"], "this is no snapshot of labkit"),
        ([f"PRAGMA application_id={APPLICATION}", "DROP TABLE labkit_snapshot"], "it has no state"),
        (["CREATE TRIGGER t AFTER INSERT ON datapoint BEGIN DELETE FROM datapoint; END"], "other tables"),
        (["DROP TABLE datapoint"], "other tables"),
        (["CREATE VIEW v AS SELECT 1"], "other tables"),
        (["UPDATE labkit_snapshot SET value = '[]'"], "its state is no JSON object"),
        (["UPDATE labkit_snapshot SET value = '{'"], "damaged"),
        ([f"UPDATE labkit_snapshot SET value = '{'[' * 200_000}'"], "damaged"),
        (["UPDATE labkit_snapshot SET value = '[[1]]' WHERE key = 'journal'"], "a record of its journal"),
        *(
            ([f"UPDATE labkit_snapshot SET value = {each} WHERE key = 'journal'"], "damaged")
            for each in ("'{}'", "'[1, ]'", "'[1 2]'", "'[1] '", "'['", "''", "x'5b5d'", "'null'")
        ),
    ],
)
def test_an_odd_file(lab: Lab, tmp_path: Path, content: bytes, statements: list[str], text: str) -> None:
    expect_refused(lab, changed(content, tmp_path / "past.lab", *statements), text)


def _of(*path: Any) -> Callable[[dict[str, Any], Any], None]:
    def put(state: Any, value: Any) -> None:
        for key in path[:-1]:
            state = state[key]
        state[path[-1]] = value

    return put


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("seed",), 8, r"the snapshot is of Lab\(seed=8\), and this lab has the seed 7"),
        (
            ("settings", "domain"),
            "x.example",
            "^restore: domain: the snapshot has 'x.example', and this lab 'lab",
        ),
        (("settings",), None, "domain: the snapshot has None"),
        (("tables",), 99, "of version 1.99"),
        (("core", "clock"), [0, "x", 0, 0], "core.clock.*valid number"),
        (("core",), None, "damaged: core"),
        (("components",), {}, "other parts than a lab"),
        (("components", "Faults", "faults", 0, "state"), "odd", "Faults.faults.0.state"),
        (
            ("components", "Faults", "faults", 0, "settings", "where"),
            "POST",
            "Faults.faults.0.settings.where",
        ),
        (("components", "service Keystore"), [["!"]], "cannot be restored here"),
        (("components", "service Keystore"), [["U0VU"]], "cannot be restored here"),
        (
            ("components", "Solutions", 0, "added"),
            [{"is_route": True, "given": {}, "replace": False}],
            "restored here",
        ),
        (("components", "Solutions", 0, "settings", "products"), ["none"], "no product 'none'"),
        (("components", "SocialProviders", 0, "people"), [{"id": ""}], "SocialProviders.0.people.0.id"),
        (("components", "Edge"), [1], "damaged: Edge"),
        (
            ("components", "Messaging", "handsets", "messages"),
            [{"fields": {}, "timer": None}],
            "cannot be restored",
        ),
        (("products", 0, "id"), "own 2", "products.0.id"),
        (("products", 1, "id"), "thing-acme", "domain .* is taken"),
    ],
)
def test_an_odd_state(
    lab: Lab, tmp_path: Path, content: bytes, path: tuple[Any, ...], value: Any, text: str
) -> None:
    put = _of(*path)
    expect_refused(lab, with_state(content, tmp_path / "past.lab", lambda state: put(state, value)), text)


def test_a_file_reads_no_other_file(lab: Lab, tmp_path: Path, content: bytes) -> None:
    secret, path = tmp_path / "secret", tmp_path / "past.lab"
    secret.write_text("secret")
    with_state(content, path, lambda state: state["products"][0].update(content=[{"file": str(secret)}]))
    with Lab(seed=7) as other:
        other.restore(path)
        other.reset()
        assert list(other.product("thing-acme").content) == []
    folder = tmp_path / "folder"
    folder.mkdir()
    with_state(
        content,
        path,
        lambda state: state["components"]["Solutions"][1]["settings"].update(path=[str(folder)]),
    )
    expect_refused(lab, path, r"solution 'acme' has a folder, which a file does not contain; add it first")


def test_a_file_is_private_and_replaced_as_a_whole(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "past.lab"
    assert lab.save(path) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = path.read_bytes()
    lab.save(path)
    assert path.read_bytes() == first
    with pytest.raises(LabError, match=r"^snapshot: cannot write .*none/past.lab: No such file"):
        lab.save(tmp_path / "none" / "past.lab")
    assert [each.name for each in tmp_path.iterdir()] == ["past.lab"]


class TestRefusals:
    def test_python_handlers_and_services(self) -> None:
        with Lab(seed=7) as lab:
            acme = lab.solution("acme")
            acme.route("GET", "/x", lambda: 1)
            with pytest.raises(
                LabError, match=r"^solution 'acme': GET /x has a handler in Python, which a snapshot"
            ):
                lab.snapshot()
        with Lab(seed=7) as lab:
            lab.service("Twilio", send=lambda: 1)
            with pytest.raises(LabError, match=r"^snapshot: the service Twilio consists of Python functions"):
                lab.snapshot()

    def test_what_is_under_way(self, lab: Lab) -> None:
        product = lab.product("thing", resources={"a": "string", "temperature": "number", "target": "number"})
        device = product.device(DEVICE).activate()
        past = lab.snapshot()
        with lab.story():
            for call in (lab.snapshot, lambda: lab.restore(past)):
                with pytest.raises(LabError, match="the lab is in a story"):
                    call()
        poll = device.start_poll("a", timeout=30)
        for call in (lab.snapshot, lambda: lab.restore(past)):
            with pytest.raises(LabError, match=f"requests or calls of thing/{DEVICE} are waiting"):
                call()
        lab.clock.advance(30)
        assert poll.result() is None
        lab.restore(past)
        lab.clock.run()
        run = product.fleet(1, Thermostat).start()
        with pytest.raises(TakenError, match="a fleet of 'thing' is running"):
            lab.snapshot()
        run.stop()
        run.wait()

    def test_a_lab_with_a_data_file(self, tmp_path: Path) -> None:
        with Lab(seed=7, data=tmp_path / "lab.db") as lab:
            lab.product("thing", resources={"a": "string"}).device("d").activate().write(a="1")
            lab.solution("acme").Keystore.set(key="k", value="v")
            past = lab.snapshot()
            with pytest.raises(LabError, match="this lab keeps its data in a file; expected a lab in memory"):
                lab.restore(past)
        with Lab(seed=7) as lab:
            lab.restore(past)
            assert lab.product("thing").device("d").read("a") == {"a": "1"}
            assert lab.solution("acme").Keystore.get(key="k") == {"value": "v"}

    def test_what_is_no_snapshot(self, lab: Lab) -> None:
        with (
            pytest.raises(LabError, match=r"^restore: expected a snapshot or the path of its file"),
        ):
            lab.restore(7)  # type: ignore[arg-type]


async def test_the_loop_goes_on_while_a_snapshot_is_encoded_and_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, answered = asyncio.get_running_loop(), list[str]()
    control = await Control.start(LabSettings(https_port=0), seed=7)

    async def answer() -> None:
        """Be called on the loop."""

    def asking(name: str) -> Callable[..., Any]:
        work = getattr(states, name)

        def ask(*args: Any) -> Any:
            asyncio.run_coroutine_threadsafe(answer(), loop).result(10)  # fails on the loop itself
            answered.append(name)
            return work(*args)

        return ask

    for name in ("pack", "unpack"):
        monkeypatch.setattr(states, name, asking(name))
    try:
        await control.lab.restore((await control.lab.snapshot()).content)
    finally:
        await control.stop()
    assert answered == ["pack", "unpack"]
