"""Folders that load, folders that do not, and the set-up scripts of a solution.

Every check writes its own folders, since a wrong one would break the solutions that all checks share.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import solution_id
from labkit.conformance.probe import PROBE, same
from labkit.conformance.target import Target
from labkit.core.errors import LabkitError, LabWarning, SettingsError

if TYPE_CHECKING:
    from labkit.lab.solution import Solution

Files = Mapping[str, str | bytes]

A, HANDLER, PROJECT, OLDER = "endpoints/a.lua", "services/device.lua", "solution.yaml", "Solutionfile.json"
ROUTE = "--#ENDPOINT GET /a\n"
NEWER = "formatversion: 1.0.0\ninfo: {name: a}\n"
HANDLERS = {  # handler files of the service panels, and their events
    "panels_loud": "loud",
    "panels/most": "most",
    "panels/panels_soft": "soft",
    "Panels/still": "still",
    "more/panels/panels_low": "low",
}
NAMES = ("one", "two", "none")  # of folders of one solution
GOOD: Files = {A: f"{ROUTE}return 1"}
INVALID_FOLDERS: Mapping[str, Files] = {
    "a section beside the folder": {
        PROJECT: f"{NEWER}endpoints: {{location: ../beside}}\n",
        "../beside/a.lua": f"{ROUTE}return 1",
    },
    "a header without method": {A: "--#ENDPOINT\nreturn 1"},
    "a header with another word": {A: "--#ENDPOINT FETCH /a\nreturn 1"},
    "a header without path": {A: "--#ENDPOINT GET\nreturn 1"},
    "a placeholder that is half a segment": {A: "--#ENDPOINT GET /a/{b}c\nreturn 1"},
    "a brace": {A: "--#ENDPOINT GET /a/}/b\nreturn 1"},
    "an empty placeholder": {A: "--#ENDPOINT GET /a/{}\nreturn 1"},
    "a placeholder twice": {A: "--#ENDPOINT GET /{a}/{b}/{a}\nreturn 1"},
    "no such security": {A: f"{ROUTE}--#SECURITY basics\nreturn 1"},
    "no such security, below others": {A: f"{ROUTE}--#TAGS a b\n--#SUMMARY a\n--#SECURITY Basic\nreturn 1"},
    "a rate that is no number": {A: f"{ROUTE}--#RATELIMIT 1.5\nreturn 1"},
    "a rate that is none": {A: f"{ROUTE}--#RATELIMIT\nreturn 1"},
    "a route that is no Lua": {A: f"{ROUTE}return return"},
    "a second route that is no Lua": {A: f"{ROUTE}return 1\n--#ENDPOINT GET /b\nend"},
    "a handler that is no Lua": {"services/device_datapoint.lua": "return return"},
    "a tag that protects, below the code": {A: f"{ROUTE}local one = 1\n--#SECURITY bearer\nreturn one"},
    "a module that is no Lua": {"modules/a.lua": "return return"},
    "a script that is no Lua": {PROJECT: f"{NEWER}init_script: a.lua\n", "a.lua": "return return"},
    "a file that names no event": {HANDLER: "return 1"},
    "a header that names no event": {HANDLER: "--#EVENT\nreturn 1"},
    "a header of three words": {HANDLER: "--#EVENT device datapoint more\nreturn 1"},
    "a service with a list": {"services/user.yaml": "- a\n"},
    "a service with a text": {"services/user.yml": "a\n"},
    "text that is not UTF-8": {A: ROUTE.encode() + b"return '\xff'"},
    "a pattern beside the folder": {
        PROJECT: f"{NEWER}endpoints: {{location: ., include: ../beside/*.lua}}\n",
        "../beside/a.lua": f"{ROUTE}return 1",
    },
    "a pattern from the root": {PROJECT: f"{NEWER}endpoints: {{include: /a.lua}}\n", **GOOD},
    "a key that no section has": {PROJECT: f"{NEWER}endpoints: {{place: api}}\n", **GOOD},
    "another version": {PROJECT: "formatversion: 2.0.0\ninfo: {}\n", **GOOD},
    "no version": {PROJECT: "info: {name: a}\n", **GOOD},
    "a project that is a list": {PROJECT: "- formatversion\n- info\n", **GOOD},
    "cors that are nowhere": {PROJECT: f"{NEWER}endpoints: {{cors: pages.yaml}}\n", **GOOD},
    "cors of another kind": {"cors.yaml": "credentials: [1]\n", **GOOD},
    "an older form that is no JSON": {OLDER: "{", **GOOD},
    "an older form that is a list": {OLDER: "[]", **GOOD},
    "an older form of wrong kinds": {OLDER: '{"modules": ["a.lua"]}', **GOOD},
}
DUPLICATES: Mapping[str, tuple[Files, Files]] = {  # two folders of one solution, with a duplicate
    "a route in both": (GOOD, {"endpoints/b.lua": "--#ENDPOINT get /a/\nreturn 2"}),
    "a handler in both": (
        {"services/device_datapoint.lua": "return 1"},
        {"services/b.lua": "--#EVENT Device datapoint\nreturn 2"},
    ),
    "a module in both": ({"modules/a/b.lua": "return 1"}, {"modules/a/b.lua": "return 1"}),
    "an asset in both": ({"assets/a.txt": "a"}, {"assets/a.txt": "a"}),
    "a default page in both": ({"assets/index.html": "a"}, {"assets/index.html": "a"}),
}
VALID_FOLDERS: Mapping[str, Files] = {  # each has a route GET /a that returns 1
    "the shortest": GOOD,
    "a script for set-up that is not there": {PROJECT: f"{NEWER}init_script: a.lua\nendpoints:\n", **GOOD},
    "tags": {
        A: f"{ROUTE}--#SECURITY bearer none\n--#RATELIMIT 60\n  --#TAGS a b\n--#SUMMARY\n--#SECURITYS a\nreturn 1"
    },
    "tags after a script's first line": {A: f"{ROUTE}local one = 1\n--#TAGS nonsense\nreturn one"},
    "a header in a comment": {A: "return return\n-- as in --#ENDPOINT GET /a\r\nreturn 1\r\n"},
    "a byte order mark": {A: b"\xef\xbb\xbf" + ROUTE.encode() + b"return 1"},
    "a file in a folder": {"endpoints/more/again/a.lua": f"{ROUTE}return 1"},
    "another name of the folder": {"routes/a.lua": f"{ROUTE}return 1"},
    "a section that is a file": {
        PROJECT: f"{NEWER}endpoints: {{location: a.lua}}\n",
        "a.lua": f"{ROUTE}return 1",
    },
    "routes for endpoints": {PROJECT: f"{NEWER}routes: {{location: api}}\n", "api/a.lua": f"{ROUTE}return 1"},
    "patterns": {
        PROJECT: f"{NEWER}endpoints: {{include: ['a.*', more/*.lua], exclude: [more/b.lua, drafts]}}\n",
        "endpoints/more/b.lua": "--#ENDPOINT",
        "endpoints/drafts/a.lua": "--#ENDPOINT",
        "endpoints/c.lua": "--#ENDPOINT",
        "endpoints/more/a.lua": "--#ENDPOINT GET /b\nreturn 2",
        "modules/a.lua": "function from_module() end",  # modules need no section
        A: f"{ROUTE}return from_module and 0 or 1",
    },
    "keys that nobody knows": {PROJECT: f"{NEWER}endpoint: a\nendpoints:\nmore: {{a: b}}\n", **GOOD},
    "a version that is a number": {PROJECT: "formatversion: '1.0.0'\ninfo:\nendpoints: {}\n", **GOOD},
    "another name of the project": {
        "project.yml": f"{NEWER}endpoints: {{location: api}}\n",
        "api/a.lua": f"{ROUTE}return 1",
        "another.yaml": "{",
        "others.yaml": "info: {name: b}\n",
        A: "--#ENDPOINT",
    },
    "a section that is not named": {PROJECT: f"{NEWER}endpoints:\n", HANDLER: "return return", **GOOD},
    "other names of handlers": {"eventhandlers/device_datapoint.lua": "return 1", **GOOD},
    "the newer form first": {PROJECT: f"{NEWER}endpoints:\n", OLDER: "{", **GOOD},
    "an older form with newer names": {
        OLDER: '{"routes": "b.lua", "cors": {"origin": true}, "routes_hook": "/nowhere", "assets": "public"}',
        "b.lua": f"{ROUTE}return 1",
        "public/index.html": "a",
        A: "--#ENDPOINT",
    },
    "an empty service": {"services/user.yaml": "", **GOOD},
    "sections whose folders are missing": {
        PROJECT: f"{NEWER}endpoints:\nmodules: {{location: lib}}\nservices:\nassets: {{location: public}}\n",
        **GOOD,
    },
    "patterns that match YAML": {
        PROJECT: f"{NEWER}services: {{include: '**/*.*'}}\nendpoints: {{include: '**/*.*'}}\n"
        "modules: {include: '**/*'}\n",
        "services/Keystore.yaml": "last: one\n",
        "services/more/user.yml": "",
        "services/read me.md": "No handler.\n",
        "services/panels.txt": "--#EVENT panels loud\nreturn 1",
        "endpoints/schema.yaml": "swagger: '2.0'\n",
        "modules/notes.yml": "- a\n",
        **GOOD,
    },
}


def write_folder(root: Path, name: str, files: Files) -> Path:
    """Write files into a new folder and return it."""
    folder = root / name
    folder.mkdir()
    for each, content in files.items():
        file = folder / each
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def load(target: Target, id: str, *paths: Path, **settings: Any) -> Solution | None:
    """Return the solution of these folders, or None if they do not load. Suppresses warnings of ignored files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabWarning)
        try:
            return target.lab.solution(id, path=[str(each) for each in paths], **settings)
        except SettingsError:
            return None


@contextmanager
def folders() -> Iterator[Path]:
    """Provide a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@check(
    "SOL-FORM-4",
    "folders that are wrong, each in its own way, and the solution that loads after them",
    needs={"settings"},
)
async def wrong(target: Target) -> None:
    await target.in_lab(_wrong, target)


def _wrong(target: Target) -> None:
    id, other = target.identity(), target.identity()
    with folders() as root:
        for number, (what, files) in enumerate(INVALID_FOLDERS.items()):
            expect.true(
                f"{what} is refused", load(target, id, write_folder(root, f"{number}", files)) is None, what
            )
        for number, (what, both) in enumerate(DUPLICATES.items()):
            paths = [write_folder(root, f"{number} {each}", files) for each, files in enumerate(both)]
            expect.true(f"{what} is refused", load(target, id, *paths) is None, what)
        elsewhere = write_folder(root, "elsewhere", {"a.lua": f"{ROUTE}return 1"})
        project = f"{NEWER}endpoints: {{location: {elsewhere.as_posix()}}}\n"
        outside = write_folder(root, "outside", {PROJECT: project})
        expect.true("a section in a folder elsewhere is refused", load(target, id, outside) is None, project)
        good = write_folder(root, "good", GOOD)
        probe = target.lab.solution(PROBE)
        for settings in ({"products": ["token-open", "nowhere"]}, {"domain": probe.domain}):
            expect.true(f"{settings} is refused", load(target, id, good, **settings) is None, settings)
        expect.true("a folder that is nowhere is refused", load(target, id, root / "nowhere") is None, "none")
        expect.equal("status at the one whose domain it was", probe.get("/routes").status_code, 200)
        for each in (id, other):  # a refused solution leaves nothing behind
            solution = load(target, each, good, products=["token-open"])
            expect.equal("what the route gives", solution and solution.get("/a").json(), 1)


@check("SOL-FORM-4", "folders of every form that load", needs={"settings"})
async def right(target: Target) -> None:
    await target.in_lab(_right, target)


def _right(target: Target) -> None:
    with folders() as root:
        for number, (what, files) in enumerate(VALID_FOLDERS.items()):
            solution = load(target, target.identity(), write_folder(root, f"{number}", files))
            expect.true(f"{what} loads", solution is not None, "a refusal")
            response = solution.get("/a") if solution else None
            expect.equal(f"what the route gives with {what}", response and response.json(), 1, response)


@check("SOL-FORM-3", "which event a handler's file is of, by its folder and its name", needs={"settings"})
async def handlers(target: Target) -> None:
    await target.in_lab(_handlers, target)


def _handlers(target: Target) -> None:
    publisher = target.lab.solution(solution_id(target))
    publisher.publish(default_script_key="panels", events=[{"name": each} for each in HANDLERS.values()])
    with folders() as root:
        files = {f"services/{file}.lua": f"return '{file}'" for file in HANDLERS}
        subscriber = load(target, solution_id(target), write_folder(root, "one", files))
    assert subscriber is not None
    subscriber.subscribe(publisher)
    for file, event in HANDLERS.items():
        found = publisher.Interface.triggerOne(event=event, target=subscriber.id, data={})
        same(f"what handles {event}", found, file)


@check("SOL-FORM-6", "solutions of three folders, in each order", needs={"settings", "files"})
async def several(target: Target) -> None:
    await target.in_lab(_several, target)


def _several(target: Target) -> None:
    with folders() as root:
        paths = {}
        for number, name in enumerate(NAMES):
            files = {
                f"endpoints/{name}.lua": f"--#ENDPOINT GET /{name}\nreturn require '{NAMES[number - 1]}'",
                f"modules/{name}.lua": f"return '{name}'",
                f"assets/{name}.txt": name,
            }
            if name != "none":
                files |= {
                    "services/Keystore.yaml": f"of_{name}: 1\nlast: {name}\n",
                    "cors.yaml": f"origin: https://{name}.example.org\n",
                }
            paths[name] = write_folder(root, name, files)
        for order in permutations(NAMES):
            solution = load(target, target.identity(), *(paths[each] for each in order))
            assert solution is not None
            for number, name in enumerate(NAMES):
                expect.equal(f"what {name} gives", solution.get(f"/{name}").text, NAMES[number - 1])
                expect.equal(f"the asset of {name}", solution.get(f"/{name}.txt").text, name)
            last = next(each for each in reversed(order) if each != "none")
            parameters = {"of_one": 1, "of_two": 1, "last": last}
            found = solution.Config.getParameters(service="Keystore")
            same(f"parameters in the order {order}", found, {"parameters": parameters})
            for name in ("one", "two"):
                origin = f"https://{name}.example.org"
                response = solution.get("/none", headers={"Origin": origin})
                allowed = response.headers.get("Access-Control-Allow-Origin")
                expect.equal(
                    f"what {name} may in {order}", allowed, origin if name == last else None, response
                )


@check(
    "SOL-FORM-4", "a folder that is edited, wrongly and rightly, and read anew", needs={"settings", "files"}
)
async def edited(target: Target) -> None:
    await target.in_lab(_edited, target)


def _edited(target: Target) -> None:
    with folders() as root:
        folder = write_folder(root, "one", {**GOOD, "assets/a.txt": "before", "assets/b.txt": "b"})
        solution = load(target, solution_id(target), folder)
        assert solution is not None
        solution.route("GET", "/added", lua="return 'added'")
        (folder / "assets/a.txt").write_text("after")
        (folder / "assets/b.txt").unlink()
        expect.equal("an asset that was changed", solution.get("/a.txt").text, "after")
        expect.equal("status of one that was deleted", solution.get("/b.txt").status_code, 404)
        for text, wanted in ((f"{ROUTE}return return", 1), (f"{ROUTE}return 2", 2)):
            (folder / A).write_text(text)
            try:
                solution.reload()
                read = True
            except SettingsError:
                read = False
            expect.equal("was it read?", read, wanted == 2)
            expect.equal("what the route gives", solution.get("/a").json(), wanted)
            expect.equal("what one gives that was added", solution.get("/added").text, "added")
        solution.Keystore.set(key="kept", value="before")
        # keeps its data, but no handlers added in cells
        target.lab.solution(solution.id, path=[str(folder)], replace=True)
        expect.equal("what the route gives then", solution.get("/a").json(), 2)
        expect.equal("status of what was added", solution.get("/added").status_code, 404)
        expect.equal("what its services keep", solution.Keystore.get(key="kept"), {"value": "before"})
        try:
            target.lab.solution(solution.id, path=[str(folder)], domain="elsewhere.localhost", replace=True)
            moved = True
        except SettingsError:
            moved = False
        expect.equal("is it moved to another domain?", moved, False)
        solution.publish(default_script_key="panels", operations=[{"name": "ask"}])
        try:  # rejected definitions are gone after a reload
            solution.publish(operations=[{"name": "no name"}])
            published = True
        except LabkitError:
            published = False
        expect.equal("is it published?", published, False)
        expect.equal("what is published", list(solution.publish().info.operations), ["ask"])
        solution.reload()
        expect.equal("what the route gives at the old one", solution.get("/a").json(), 2)


@check("SOL-FORM-5", "set-up runs modules, then its script or hook, even if one fails", needs={"settings"})
async def set_up(target: Target) -> None:
    await target.in_lab(_set_up, target)


RAN = "Keystore.command{key = 'ran', command = 'rpush', args = {'%s'}}\n"


def _set_up(target: Target) -> None:
    routes = f"{ROUTE}return 1\n--#ENDPOINT GET /hook\n{RAN % 'hook'}return hooked.wrongly\n"
    newer = f"{NEWER}endpoints:\nmodules:\ninit_script: more/start.lua\n"
    older = '{"routes": "endpoints/a.lua", "modules": {"m": "modules/m.lua"}, "routes_hook": "%s"}'
    fails = "error('as it was asked to')\n"
    once = f"if Keystore.command{{key = 'began', command = 'incr'}}.value == 1 then {fails} end\n"
    cases: tuple[tuple[str, str, str, str, list[str]], ...] = (
        (PROJECT, newer, "", "", ["module", "script"]),
        (PROJECT, newer, "", fails, ["module", "script"]),
        (PROJECT, newer, once, "", ["module", "module", "script"]),
        (OLDER, older % "hook", "", "", ["module", "hook"]),
        (OLDER, older % "/nowhere", "", "", ["module"]),
    )
    with folders() as root:
        for number, (project, text, module, script, wanted) in enumerate(cases):
            files = {
                project: text,
                A: routes,
                "modules/m.lua": RAN % "module" + module,
                "more/start.lua": RAN % "script" + script,
            }
            solution = load(target, target.identity(), write_folder(root, f"{number}", files))
            expect.true("it loads", solution is not None, "a refusal")
            assert solution is not None
            ran = solution.Keystore.command(key="ran", command="lrange", args=[0, -1])["value"]
            same("what ran at set-up", ran, wanted)
            expect.equal("status of a route", solution.get("/a").status_code, 200)
