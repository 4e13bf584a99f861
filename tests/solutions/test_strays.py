"""Misnamed files and folders of a solution folder: each is a warning with a suggestion."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from labkit.solutions.folders.folder import read
from tests.solutions.test_folder import PROJECT, folder

READ = "scripts are in endpoints/, modules/ and services/"


@pytest.mark.parametrize(
    ("files", "warnings"),
    [
        (["module/m.lua"], ["module/: nothing reads it; did you mean modules/?"]),
        (["service/device_datapoint.lua"], ["service/: nothing reads it; did you mean services/?"]),
        (["Endpoint/a.lua"], ["Endpoint/: nothing reads it; did you mean endpoints/?"]),
        (["asset/index.html"], ["asset/: nothing reads it; did you mean assets/?"]),
        (["event_handlers/a_b.lua"], ["event_handlers/: nothing reads it; did you mean eventhandlers/?"]),
        (["scripts/é/a.lua"], [f"scripts/: nothing reads its Lua files: {READ}"]),
        (["count.lua"], [f"count.lua: nothing reads it: {READ}"]),
        (["cor.yaml"], ["cor.yaml: nothing reads it; did you mean cors.yaml?"]),
        (["Solutionfile.jso"], ["Solutionfile.jso: nothing reads it; did you mean Solutionfile.json?"]),
        (["roles.yml"], ["roles.yml: nothing reads it; did you mean roles.yaml?"]),
        (
            ["spec/resources.yaml"],
            ["spec/resources.yaml: nothing reads it; did you mean specs/resources.yaml?"],
        ),
        (["solutions.yaml"], ["solutions.yaml: nothing reads it; did you mean solution.yaml?"]),
        (["endpoints/a.luo"], ["endpoints/a.luo: nothing reads it; did you mean a.lua?"]),
        (["modules/lib/m.LUA"], ["modules/lib/m.LUA: nothing reads it; did you mean m.lua?"]),
        (["services/notify.yam"], ["services/notify.yam: nothing reads it; did you mean notify.yaml?"]),
        (
            ["routes/a.lua", "endpoints/b.lua"],
            ["routes/: nothing reads it, since the endpoints are in endpoints/"],
        ),
        (
            ["module/m.lua", "service/a_b.lua", "x.lua", "endpoints/a.lau"],
            [
                "module/: nothing reads it; did you mean modules/?",
                "service/: nothing reads it; did you mean services/?",
                f"x.lua: nothing reads it: {READ}",
                "endpoints/a.lau: nothing reads it; did you mean a.lua?",
            ],
        ),
    ],
)
def test_each_misnamed_file_and_folder_is_a_warning(
    tmp_path: Path, files: list[str], warnings: list[str]
) -> None:
    assert folder(tmp_path, dict.fromkeys(files, "")).warnings == warnings


@pytest.mark.parametrize(
    "files",
    [
        ["endpoints/a.lua", "services/a_b.lua", "modules/m.lua", "assets/x.lua", "assets/y.luo"],
        ["routes/a.lua", "eventhandlers/a_b.lua", "files/a.html"],
        ["README.md", "roles.yaml", "rules.yaml", "package.json", ".git/a.lua", ".x.lua", "img/a.png"],
        ["test/a.lua", "specs/resources.yaml", "docs/a.lua", "node_modules/a/b.lua"],
        ["endpoints/schema.yml", "endpoints/.a.luo", "endpoints/a.lua~", "modules/README.md"],
        ["services/notify.yml", "services/user/user.yaml"],
        ["product/box.json", "endpoints/a.lua"],
    ],
)
def test_what_is_read_or_for_other_programs_is_no_warning(tmp_path: Path, files: list[str]) -> None:
    assert folder(tmp_path, dict.fromkeys(files, "")).warnings == []


def test_a_project_file_decides_what_is_read(tmp_path: Path) -> None:
    files = {
        "solutions.yaml": PROJECT
        + "endpoints: {location: ./src/web, cors: cor.yaml, include: '*.luo'}\ninit_script: first.lua\n",
        "src/web/a.luo": "--#ENDPOINT GET /a",
        "src/more.lua": "",
        "cor.yaml": "origin: true",
        "first.lua": "",
        "endpoints/b.lua": "",
        "cors.yaml": "",
        "modules/m.lua": "",
    }
    assert folder(tmp_path, files).warnings == [
        "cors.yaml: nothing reads it, since the project file's endpoints have no cors: cors.yaml",
        "endpoints/: nothing reads it, since the endpoints are in ./src/web/",
        "modules/: nothing reads it, since the project file has no modules",
    ]


def test_a_section_may_be_the_whole_folder(tmp_path: Path) -> None:
    project = PROJECT + "endpoints: {location: .}"
    files = {"solution.yaml": project, "module/a.lua": "--#ENDPOINT GET /a"}
    assert folder(tmp_path, files).warnings == []


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.lua").write_text("")
    root = tmp_path / "root"
    root.mkdir()
    (root / "scripts").symlink_to(outside)
    (root / "module").symlink_to(outside)
    assert read(root).warnings == []
