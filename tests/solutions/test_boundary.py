"""The boundary of a solution folder: a file that resolves outside of it is refused by name."""

import json
import os
from pathlib import Path

import pytest

from labkit import Lab
from labkit.core.errors import SettingsError
from labkit.solutions.folders.folder import read
from tests.cases import cases
from tests.solutions.test_folder import PROJECT, fresh

SECRET = "not of this folder"


def place(root: Path, files: dict[str, str], links: dict[str, str]) -> Path:
    """Create a folder `root/own` with `files` and `links`, beside files that it must not reach."""
    for name in ("more/a.lua", "more/a.css", "more/solution.yaml", "more/cors.yaml", "a.lua", "a.yaml"):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {SECRET}\n" if file.suffix == ".yaml" else f"-- {SECRET}\n")
    own = root / "own"
    own.mkdir()
    for name, text in files.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(text.replace("ROOT", str(root)))
    for name, target in links.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).symlink_to(target.replace("ROOT", str(root)))
    return own


def older(**entries: object) -> dict[str, str]:
    return {"Solutionfile.json": json.dumps(entries)}


def project(text: str) -> dict[str, str]:
    return {"solution.yaml": PROJECT + text, "endpoints/a.lua": "", "modules/a.lua": "", "assets/a.css": ""}


OUTSIDE = "leads outside of the solution folder, to "


@cases(
    ("files", "links", "words"),
    [
        (project("endpoints: {location: '..'}"), {}, f"solution.yaml: endpoints.location: ..: {OUTSIDE}"),
        (project("modules: {location: ../more}"), {}, f"modules.location: ../more: {OUTSIDE}"),
        (project("assets: {location: ROOT/more}"), {}, "assets.location: 'ROOT/more' is absolute"),
        (project("services: {location: ROOT/own/endpoints}"), {}, "services.location: "),
        (project("endpoints: {include: '../*.lua'}"), {}, "include, exclude: '../*.lua' leaves the folder"),
        (project("assets: {include: ['**/*', 'x/../../../more/*']}"), {}, "'x/../../../more/*' leaves the folder"),
        (project("endpoints: {cors: ../more/cors.yaml}"), {}, f"cors: ../more/cors.yaml: {OUTSIDE}"),
        (project("endpoints: {cors: ROOT/more/cors.yaml}"), {}, "is absolute"),
        (project("init_script: ../a.lua"), {}, f"init_script: ../a.lua: {OUTSIDE}"),
        (project("init_script: ROOT/a.lua"), {}, "init_script: 'ROOT/a.lua' is absolute"),
        (project('init_script: "a\\0b"'), {}, "init_script: a\0b: cannot be read"),
        (older(routes="../a.lua"), {}, f"routes: ../a.lua: {OUTSIDE}"),
        (older(modules={"m": "../a.lua"}), {}, f"modules.m: ../a.lua: {OUTSIDE}"),
        (older(services={"user": {"account": "../a.lua"}}), {}, f"services.user.account: ../a.lua: {OUTSIDE}"),
        (older(assets="../more"), {}, f"assets: ../more: {OUTSIDE}"),
        (older(assets="assets"), {"assets/a.css": "ROOT/more/a.css"}, f"assets/a.css: {OUTSIDE}"),
        (older(assets="assets"), {"assets/more": "ROOT/more"}, f"assets/more: {OUTSIDE}"),
        ({}, {"solution.yaml": "../more/solution.yaml"}, f"solution.yaml: {OUTSIDE}"),
        ({}, {"other.yaml": "../more/solution.yaml"}, f"other.yaml: {OUTSIDE}"),
        ({}, {"Solutionfile.json": "../a.lua"}, f"Solutionfile.json: {OUTSIDE}"),
        ({}, {"cors.yaml": "../more/cors.yaml"}, f"cors.yaml: {OUTSIDE}"),
        ({}, {"endpoints": "../more"}, f"endpoints: {OUTSIDE}"),
        ({}, {"routes": "../more"}, f"routes: {OUTSIDE}"),
        ({}, {"assets": "ROOT/more"}, f"assets: {OUTSIDE}"),
        ({}, {"modules/m.lua": "../../a.lua"}, f"modules/m.lua: {OUTSIDE}"),
        ({}, {"endpoints/m.lua": "../../a.lua"}, f"endpoints/m.lua: {OUTSIDE}"),
        ({}, {"services/user_account.lua": "../../a.lua"}, f"services/user_account.lua: {OUTSIDE}"),
        ({}, {"services/interface.yaml": "../../a.yaml"}, f"services/interface.yaml: {OUTSIDE}"),
        ({}, {"services/interface": "../../more"}, f"services/interface: {OUTSIDE}"),
        ({}, {"modules/more": "../../more"}, f"modules/more: {OUTSIDE}"),
        ({}, {"assets/a.css": "ROOT/more/a.css"}, f"assets/a.css: {OUTSIDE}"),
        ({}, {"assets/a.css": "b.css", "assets/b.css": "ROOT/more/a.css"}, OUTSIDE),
        ({}, {"assets/deep/more": "../../../more"}, f"assets/deep/more: {OUTSIDE}"),
    ],
)  # fmt: skip
def test_a_file_outside_is_refused(
    tmp_path: Path, files: dict[str, str], links: dict[str, str], words: str
) -> None:
    root = fresh(tmp_path)
    own = place(root, files, links)
    with pytest.raises(SettingsError) as error:
        read(own)
    assert str(error.value).startswith(f"{own}: ")
    assert words.replace("ROOT", str(root)) in str(error.value)
    assert SECRET not in str(error.value)


def test_links_that_stay_inside_and_a_linked_folder_are_accepted(tmp_path: Path) -> None:
    own = place(
        tmp_path,
        {"lib/m.lua": "m = 1", "assets/a.css": "a", "pages/index.html": "<p>", "solution.yaml": PROJECT + (
            "modules: {location: modules}\nassets: {exclude: more}\nendpoints: {location: ../own/api}\n"),
         "api/a.lua": "--#ENDPOINT GET /a"},
        {"modules": "lib", "assets/b.css": "a.css", "assets/index.html": "../pages/index.html",
         "assets/more": "ROOT/more"},
    )  # fmt: skip
    (tmp_path / "named").symlink_to(own)
    found = read(tmp_path / "named")
    assert [each.path for each in found.endpoints] == ["/a"]
    assert found.modules["m"].source == "m = 1"
    assert {url: asset.read() for url, asset in found.assets.items()} == {
        "/": b"<p>", "/a.css": b"a", "/b.css": b"a", "/index.html": b"<p>"
    }  # fmt: skip


def test_an_asset_that_becomes_a_link_or_a_pipe_is_not_served(tmp_path: Path) -> None:
    own = place(tmp_path, {"assets/a.css": "own", "assets/deep/a.css": "own", "assets/pipe": "own"}, {})
    with Lab(seed=1) as lab:
        solution = lab.solution("acme", path=own)
        assert solution.get("/a.css").text == solution.get("/deep/a.css").text == "own"
        (own / "assets/a.css").unlink()
        (own / "assets/a.css").symlink_to(tmp_path / "more/a.css")
        (own / "assets/deep/a.css").unlink()
        (own / "assets/deep").rmdir()
        (own / "assets/deep").symlink_to(tmp_path / "more")
        (own / "assets/pipe").unlink()
        os.mkfifo(own / "assets/pipe")
        for name in ("a.css", "deep/a.css"):
            response = solution.get(f"/{name}")
            assert (response.status_code, SECRET in response.text) == (404, False)
            assert f"assets/{name}: {OUTSIDE}" in str(lab.journal.frame().detail.iloc[-1])
        assert solution.get("/pipe").status_code == 404
