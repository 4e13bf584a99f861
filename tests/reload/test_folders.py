"""Edits of solution folders, in the ways of editors, while the platform runs."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.control.clock import ClockControl
from labkit.control.faults import FaultsControl
from labkit.settings import FaultSettings
from tests.reload.edited import LAB_YAML, edited_lab, script, write_route


def in_place(file: Path, text: str) -> None:
    file.write_text(text)


def by_rename(file: Path, text: str) -> None:
    """Save as most editors do: a file beside it takes its name."""
    beside = file.with_name(f".{file.name}.swp")
    beside.write_text(text)
    beside.replace(file)


def with_backup(file: Path, text: str) -> None:
    """Save as vim does: the old file is renamed, the new one written, the old one removed."""
    backup = file.with_name(f"{file.name}~")
    file.rename(backup)
    file.write_text(text)
    backup.unlink()


def in_pieces(file: Path, text: str) -> None:
    with file.open("w") as opened:
        for character in text:
            opened.write(character)
            opened.flush()


SAVES = [in_place, by_rename, with_backup, in_pieces]


@pytest.mark.parametrize("save", SAVES)
async def test_an_edit_is_taken_over_however_it_is_saved(
    tmp_path: Path, save: Callable[[Path, str], None]
) -> None:
    async with edited_lab(tmp_path) as lab:
        for answer in ("two", "three"):
            save(tmp_path / "acme" / "endpoints" / "v.lua", script(answer))
            assert await lab.said() == "solution acme: runs its new files"
            assert await lab.get() == answer
        assert await lab.get("other") == "one"


async def test_an_edit_before_the_watching_has_begun_is_taken_over(tmp_path: Path) -> None:
    """The platform has read the folder, and nobody watches it yet."""
    async with edited_lab(tmp_path) as lab:
        write_route(tmp_path / "acme", "two")  # the task of the watcher has not run
        assert await lab.said() == "solution acme: runs its new files"


async def test_a_broken_edit_leaves_the_old_scripts_running_and_says_where(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        file = tmp_path / "acme" / "endpoints" / "v.lua"
        file.write_text("--#ENDPOINT GET /v\nreturn = 1\n")
        told = f"{tmp_path}/acme: endpoints/v.lua:2: unexpected symbol near '='; the old one stays"
        assert await lab.said() == f"solution acme: {told}"
        assert await lab.get() == "one"
        write_route(tmp_path / "other", "two")  # the error is not said again
        assert await lab.said() == "solution other: runs its new files"
        file.write_text(script("one"))
        assert await lab.said() == "solution acme: is in order again"
        assert await lab.get() == "one"


async def test_a_burst_of_edits_of_two_solutions_ends_in_what_the_files_say(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        for number in range(100):
            for each in ("acme", "other"):
                write_route(tmp_path / each, f"answer {number}")
                write_route(tmp_path / each, str(number), f"n{number}")
        lab.edit("https_port: 0", "https_port: 0\nguard: {header: 5}")  # said once the folders were read, too
        said: list[str] = []
        while (line := await lab.said()) != "guard.header: its new value needs a restart":
            said.append(line)
        for each in ("acme", "other"):
            assert (await lab.get(each), await lab.get(each, "/n99")) == ("answer 99", "99")
        assert set(said) == {f"solution {each}: runs its new files" for each in ("acme", "other")}
        assert len(said) <= 20  # not one for each of the 400 edits


async def test_saving_without_a_change_is_no_edit(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        running = lab.platform.solutions.get("acme")
        (tmp_path / "acme" / "endpoints" / "v.lua").touch()
        by_rename(tmp_path / "acme" / "endpoints" / "v.lua", script("one"))
        write_route(tmp_path / "other", "two")
        assert await lab.said() == "solution other: runs its new files"
        assert lab.platform.solutions.get("acme") is running


@pytest.mark.parametrize("between", ["seen", "at once"])
async def test_a_folder_that_is_removed_and_restored_is_watched_again(tmp_path: Path, between: str) -> None:
    """Also where the new folder has the inode of the old one."""
    async with edited_lab(tmp_path) as lab:
        shutil.copytree(tmp_path / "acme", tmp_path / "copy")
        shutil.rmtree(tmp_path / "acme")
        if between == "seen":
            said = {await lab.said(), await lab.said()}
            assert said == {
                f"solution acme: {tmp_path}/acme: no such folder; the old one stays",
                f"{tmp_path}/lab.yaml: solutions.acme.path: no such file or folder: acme (line 8); what runs stays",
            }
            assert await lab.get() == "one"
        shutil.copytree(tmp_path / "copy", tmp_path / "acme")
        if between == "seen":
            said = {await lab.said(), await lab.said()}
            assert said == {"solution acme: is in order again", f"{tmp_path}/lab.yaml: is in order again"}
        for answer in ("two", "three"):
            write_route(tmp_path / "acme", answer)
            assert await lab.said() == "solution acme: runs its new files"
            assert await lab.get() == answer


async def test_a_link_that_leads_to_another_folder_is_followed(tmp_path: Path) -> None:
    """As a deployment does that swaps `current` between its releases; also of a folder above the solution's."""
    for name in ("v1", "v2"):
        write_route(tmp_path / name / "acme", name)
    (tmp_path / "current").symlink_to("v1")
    yaml = LAB_YAML.replace("path: acme", "path: current/acme")
    async with edited_lab(tmp_path, yaml) as lab:
        assert await lab.get() == "v1"
        (tmp_path / "next").symlink_to("v2")
        (tmp_path / "next").replace(tmp_path / "current")
        assert await lab.said() == "solution acme: runs its new files"
        assert await lab.get() == "v2"
        write_route(tmp_path / "v2" / "acme", "edited")
        assert await lab.said() == "solution acme: runs its new files"
        assert await lab.get() == "edited"


async def test_files_in_new_folders_are_taken_over(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        module = tmp_path / "acme" / "modules" / "parts"
        module.mkdir(parents=True)
        (module / "text.lua").write_text('return {text = "from a module"}')
        write_route(tmp_path / "acme", '" .. require("parts.text").text .. "')
        while await lab.get() != "from a module":
            assert await lab.said() == "solution acme: runs its new files"


async def test_runs_that_have_begun_end_with_the_old_script(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        waiting = '--#ENDPOINT GET /v text/plain\nKeystore.get{{key = "k"}}\nreturn "{}"\n'
        file = tmp_path / "acme" / "endpoints" / "v.lua"
        file.write_text(waiting.format("old"))
        assert await lab.said() == "solution acme: runs its new files"
        faults = FaultsControl(lab.platform)
        await faults.add(FaultSettings(where="Keystore.get", delay=10.0, first=1))
        begun = asyncio.create_task(faults.wait_for_delay())
        answer = asyncio.create_task(lab.get())
        await begun
        file.write_text(waiting.format("new"))
        assert await lab.said() == "solution acme: runs its new files"
        assert await lab.get() == "new"
        assert not answer.done()
        await ClockControl(lab.platform).advance(10.0)
        assert await answer == "old"


async def test_routes_that_were_added_by_hand_stay(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        lab.platform.solutions.get("acme").route("GET", "/by-hand", lua='return "by hand"')
        write_route(tmp_path / "acme", "two")
        assert await lab.said() == "solution acme: runs its new files"
        assert await lab.get(path="/by-hand") == "by hand"


async def test_a_file_that_is_not_utf8_is_a_broken_edit(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        (tmp_path / "acme" / "endpoints" / "v.lua").write_bytes(b"\xff")
        said = await lab.said()
        assert "endpoints/v.lua: " in said
        assert said.endswith("; the old one stays")
        assert await lab.get() == "one"
