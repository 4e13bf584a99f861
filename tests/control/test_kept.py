"""Snapshots with names, links in mails, reviews of solutions, and values of keys, by control."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from labkit import LabError, UnknownError
from labkit.control import lab as of_lab
from labkit.control.control import Control
from labkit.settings import LabSettings, SolutionSettings


@pytest.fixture
async def control() -> AsyncIterator[Control]:
    control = await Control.start(LabSettings(https_port=0, solutions=(SolutionSettings(id="acme"),)), seed=7)
    try:
        yield control
    finally:
        await control.stop()


async def test_snapshots_with_names(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("", "a/b", "..", "a b", "a" * 65):
        with pytest.raises(LabError, match="name: expected at most 64 letters"):
            await control.lab.snapshot(name=wrong)
    for name in ("one", "one", "two"):
        await control.lab.snapshot({"a": name}, name=name)
        await control.lab.reset()
    assert [each.name for each in await control.lab.snapshots()] == ["one", "two"]
    assert await control.lab.restore(name="two") == {"a": "two"}
    for call in (control.lab.remove_snapshot("on"), control.lab.restore(name="on")):
        with pytest.raises(UnknownError, match="no snapshot 'on', there are: one, two; did you mean one"):
            await call
    with pytest.raises(LabError, match="expected either the content of a snapshot, or a name"):
        await control.lab.restore()
    monkeypatch.setattr(of_lab, "MOST_KEPT", 2)
    await control.lab.snapshot(name="two")
    with pytest.raises(LabError, match="keeps at most 2 snapshots, of 4 GiB in all: remove one"):
        await control.lab.snapshot(name="three")


async def test_links_that_are_not_followed(control: Control) -> None:
    with pytest.raises(UnknownError, match="no mail of 0 matches"):
        await control.mailbox.follow()
    sent = {"from": "a@example.com", "to": "b@example.com", "subject": "s", "text": "https://example.com/"}
    await control.services.call("acme", "Email", "send", sent)
    with pytest.raises(UnknownError, match="no link 1 in the mail 's', it has 1"):
        await control.mailbox.follow(link=1)
    with pytest.raises(LabError, match="is no HTTPS URL of this lab"):
        await control.mailbox.follow()


async def test_a_review_changes_nothing(control: Control) -> None:
    files = {"endpoints/a.lua": "--#ENDPOINT GET /a\nreturn Twilio.call{}", "tests/a.lua": "x = ("}
    found = await control.solutions.check("acme", files)
    assert [each.partition(":")[0] for each in (*found.errors, *found.warnings)] == [
        "tests/a.lua",
        "endpoints/a.lua",
    ]
    assert [*found.stubs] == ["Twilio"]
    assert [each.file for each in found.files] == [*files]
    [error] = (
        await control.solutions.check("acme", {"endpoints/a.lua": "--#ENDPOINT GET /a\nreturn ("})
    ).errors
    assert "endpoints/a.lua:3" in error or "endpoints/a.lua:2" in error
    assert await control.solutions.routes("acme") == []


async def test_values_of_keys(control: Control) -> None:
    async def command(name: str, key: str, *args: object) -> None:
        await control.services.call(
            "acme", "Keystore", "command", {"command": name, "key": key, "args": [*args]}
        )

    await command("set", "s", "é")
    await command("pexpire", "s", 1500)
    await command("rpush", "l", 1, 2)
    await command("hset", "h", "a", 1)
    await command("zadd", "z", 1.5, "m")
    found = [await control.keystore.get("acme", key) for key in "slhz"]
    assert [(each.type, each.value, each.seconds) for each in found] == [
        ("string", "é", 1.5),
        ("list", ["1", "2"], None),
        ("hash", {"a": "1"}, None),
        ("zset", ["m", "1.5"], None),
    ]
    with pytest.raises(UnknownError, match="solution 'acme' has no key 'x'"):
        await control.keystore.get("acme", "x")
