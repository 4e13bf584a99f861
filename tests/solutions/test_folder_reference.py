"""Statements of the book's page on a solution's folder that its blocks do not show."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabWarning
from labkit.lab.solution import Solution
from labkit.solutions.folders.folder import SolutionFolder, read_partly
from tests.cases import cases

PROJECT = "formatversion: 1.0.0\ninfo:\n"
ROUTE = "--#ENDPOINT GET /a\nreturn 1\n"


def made(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def loaded(lab: Lab, folder: Path, files: dict[str, str], **settings: Any) -> Solution:
    return lab.solution("acme", path=made(folder, files), **settings)


def partly(folder: Path, files: dict[str, str]) -> SolutionFolder:
    return read_partly(made(folder, files))


@pytest.mark.parametrize(
    "file",
    [
        "timer_timer.lua",
        "timer/timer.lua",
        "timer/timer_timer.lua",
        "TIMER_timer.lua",
        "deep/timer/timer.lua",
    ],
)
def test_the_name_of_a_file_says_what_it_handles(tmp_path: Path, file: str) -> None:
    [handler] = partly(tmp_path, {f"services/{file}": "print(1)"}).events
    assert (handler.service.lower(), handler.event) == ("timer", "timer")


def test_with_one_word_the_file_is_the_service(tmp_path: Path) -> None:
    [handler] = partly(tmp_path, {"services/timer.lua": "--#EVENT timer\n"}).events
    assert (handler.service, handler.event) == ("timer", "timer")


PROJECTS = [
    ({"murano.yaml": PROJECT + "routes: {location: api.lua}\n", "api.lua": ROUTE}, ["GET /a"], []),
    ({"murano.yaml": PROJECT, "endpoints/a.lua": ROUTE}, [], ["endpoints/: nothing reads it, since the project"]),
    ({"solution.yaml": PROJECT + "endpoints:\n", "b.yaml": PROJECT, "endpoints/a.lua": ROUTE}, ["GET /a"], []),
    ({"a.yaml": PROJECT + "endpoints:\n", "b.yaml": PROJECT, "endpoints/a.lua": ROUTE}, ["GET /a"], ["b.yaml: "]),
    ({"solution.yaml": PROJECT, "Solutionfile.json": '{"routes": "a.lua"}', "b.lua": ""}, [], ["b.lua: nothing reads"]),
    ({"Solutionfile.json": '{"custom_api": "a.lua"}', "a.lua": ROUTE, "b.lua": ROUTE}, ["GET /a"], []),
    ({"Solutionfile.json": '{"assets": "gone"}'}, [], ["Solutionfile.json: assets: no folder 'gone'"]),
    ({"routes/a.lua": ROUTE}, ["GET /a"], []),
]  # fmt: skip


@cases(("files", "routes", "warnings"), PROJECTS)
def test_the_project_file_says_what_is_read(
    tmp_path: Path, files: dict[str, str], routes: list[str], warnings: list[str]
) -> None:
    found = partly(Path(tempfile.mkdtemp(dir=tmp_path)), files)  # `cases` runs all in one test
    assert [f"{each.method} {each.path}" for each in found.endpoints] == routes
    told = [str(each) for each in found.findings]
    assert len(told) == len(warnings), told
    assert all(text.startswith(start) for text, start in zip(told, warnings, strict=True)), told


def test_set_up_runs_the_modules_and_then_the_script(tmp_path: Path) -> None:
    add = 'Keystore.command{key = "order", command = "rpush", args = {"%s"}}'
    with Lab(seed=7) as lab:
        files = {
            "solution.yaml": PROJECT + "modules:\ninit_script: i.lua\n",
            "modules/m.lua": add % "m",
            "i.lua": add % "i",
        }
        acme = loaded(lab, tmp_path, files)
        assert acme.Keystore.command(key="order", command="lrange", args=[0, -1])["value"] == ["m", "i"]


def test_an_older_project_has_a_hook_and_joined_modules(tmp_path: Path) -> None:
    project = {
        "routes": "r.lua",
        "routes_hook": "_init",
        "modules": {"m": "m.lua"},
        "assets": "w",
        "cors": '{"origin": true}',
    }
    files = {
        "Solutionfile.json": json.dumps(project),
        "r.lua": '--#ENDPOINT GET /_init\nKeystore.set{key="o",value="hook"}\n--#ENDPOINT GET /x\nreturn helper()\n',
        "m.lua": 'local function helper() return "joined" end\n',
        "w/.hidden": "x",
        "w/page": "y",
        "services/keystore.yaml": "a: 1",
        "roles.yaml": "- role_id: keeper\n",
    }
    with Lab(seed=7) as lab:
        acme = loaded(lab, tmp_path, files)
        assert acme.Keystore.get(key="o")["value"] == "hook"
        answer = acme.get("/x", headers={"Origin": "https://x.example"})
        assert (answer.text, answer.headers["Access-Control-Allow-Origin"]) == ("joined", "https://x.example")
        assert [acme.get(path).status_code for path in ("/page", "/.hidden")] == [200, 404]
        assert [each["role_id"] for each in acme.User.listRoles()] == ["keeper"]


def test_settings_go_before_the_folder_and_the_last_folder_before_the_first(tmp_path: Path) -> None:
    for name in ("p", "q"):
        made(
            tmp_path / name,
            {
                "services/deep/email.yaml": f"from: {name}@x.yz",
                f"endpoints/{name}.lua": f"--#ENDPOINT GET /{name}\nreturn 1",
            },
        )
    with Lab(seed=7) as lab:
        folders = [tmp_path / "p", tmp_path / "q"]
        both = lab.solution("both", path=folders)
        third = lab.solution("third", path=folders, services={"Email": {"from": "set@x.yz"}})
        for each in (both, third):
            each.Email.send(to="ann@x.yz", subject="s", text="t")
            assert [each.get(path).status_code for path in ("/p", "/q")] == [200, 200]
        assert [mail.sender for mail in lab.mailbox] == ["q@x.yz", "set@x.yz"]


def test_resources_are_those_of_products_without_their_own(tmp_path: Path) -> None:
    with Lab(seed=7) as lab:
        bare, full = lab.product("bare"), lab.product("full", resources={"z": "string"})
        loaded(lab, tmp_path, {"specs/resources.yaml": "a: number\n"}, products=[bare, full])
        for product, alias in ((bare, "a"), (full, "z")):
            device = product.device("d").activate()
            with pytest.warns(LabWarning, match="no resource"):
                device.write(a=1, z="1")
            assert device.read(alias) == {alias: "1"}


def test_routes_go_before_files_and_both_before_the_documentation(tmp_path: Path) -> None:
    files = {
        "assets/a": "file",
        "assets/docs": "own",
        "assets/b": "old",
        "endpoints/a.lua": '--#ENDPOINT get a\nreturn "route"\n',
    }
    with Lab(seed=7) as lab:
        acme = loaded(lab, tmp_path, files)
        (tmp_path / "assets" / "b").write_text("new")
        assert [acme.get(path).text for path in ("/a/", "/docs", "/b")] == ["route", "own", "new"]
