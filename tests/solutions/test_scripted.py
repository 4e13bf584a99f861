"""Solutions in Lua: folders and cells, requests, events, modules, and isolation of two solutions."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import SettingsError
from tests.cases import cases
from tests.solutions.rig import SolutionRig, handle, solution_rig


def folder(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


async def answer(lab: SolutionRig, path: str = "/a", id: str = "acme", **options: Any) -> tuple[int, Any]:
    response = await lab.request(options.pop("method", "GET"), path, id, **options)
    json = response.headers["Content-Type"].startswith("application/json")
    return response.status, await (response.json() if json else response.text())


async def run(lua: str, **options: Any) -> tuple[int, Any]:
    """Return the answer of a route with this script."""
    async with solution_rig() as lab:
        (await lab.add(environment={"COLOUR": "red"})).route("GET", "/a", lua=lua)
        return await answer(lab, **options)


@cases(
    ("lua", "expected"),
    [
        ("response.code = 99", (500, {"error": "response.code is 99, expected a status from 200 to 599"})),
        ("response = 'x'", (500, {"error": "response is a string, expected a table"})),
        ("return context.solution_id .. context.service .. context.event", (200, "acmewebservicerequest")),
        ("return os.getenv('COLOUR')", (200, "red")),
        ("return os.time()", (200, 1_767_225_600)),
        ("return Store.nothing{}.error", (200, "Operation nothing of service Store Not Found")),
        ("error('boom')", (500, {"error": "GET /a:1: boom"})),
        ("error({code = 1})", None),
        ("local function f() error('deep') end\nf()", (500, {"error": "GET /a:1: deep"})),
    ],
)
async def test_a_script_answers(lua: str, expected: tuple[int, Any] | None) -> None:
    found = await run(lua)
    if expected is None:
        assert found[0] == 500
    else:
        assert found == expected


@cases(
    ("lua", "error"),
    [
        ("response = 5", "response is a number, expected a table"),
        ("response = true", "response is a boolean, expected a table"),
        ("response = nil", "response is a nil, expected a table"),
        ("response.headers = 'x'", "response.headers: expected values by name, as Allow: GET, not a string"),
        (
            "response.headers = {'x: y'}",
            "response.headers: expected values by name, as Allow: GET, not a list",
        ),
        ("response.code = {1}", "response.code is a table, expected a status from 200 to 599"),
        (
            "response.headers['X-A'] = {{}}",
            "response.headers: the value of X-A is a table, expected a string",
        ),
        ("response.headers['X-A'] = 'a\\nb'", "response.headers: the value of X-A holds a control character"),
        ("response.headers['X-A'] = 'a\\255b'", "response.headers: the value of X-A is not UTF-8"),
        ("response.headers['X A'] = 'b'", "response.headers: 'X A' is not the name of a header"),
    ],
)
async def test_an_invalid_response_is_an_error_in_lua_terms(lua: str, error: str) -> None:
    assert await run(lua) == (500, {"error": error})


async def test_an_empty_list_can_be_marked_by_a_script() -> None:
    lua = "return {a = setmetatable({}, {__type = 'slice'}), b = {}, c = json.parse('[]')}"
    assert await run(lua) == (200, {"a": [], "b": {}, "c": []})


async def test_a_script_that_does_not_end_is_stopped() -> None:
    async with solution_rig(script_cpu=0.02) as lab:
        solution = await lab.add()
        solution.route("GET", "/a", lua="while true do end")
        solution.route("GET", "/b", lua="return 'fine'")
        status, body = await answer(lab)
        assert status == 504
        assert body["error"].startswith("GET /a:1: CPU limit")
        assert await answer(lab, "/b") == (200, "fine")


FOLDER = {
    "endpoints/first.lua": "--#ENDPOINT GET /a\nreturn require('lib.tool').greet('a')\n\n"
    "--#ENDPOINT post /b text/plain\nreturn old.shout(request.body)\n\n"
    "--#ENDPOINT GET /broken\nlocal x = nil\nreturn x.y\n",
    "modules/lib/tool.lua": "local tool = {}\nfunction tool.greet(x) return 'hello ' .. x end\nreturn tool\n",
    "modules/old.lua": "old = {shout = function(x) return x:upper() end}\n",
    "services/user_account.lua": "return {event.email, context.script_key}\n",
    "services/more.lua": "--#EVENT device datapoint\nprint(data.alias, data.value[2])\nreturn data.value\n"
    "--#EVENT timer timer\nreturn {message.x, request.x}\n"
    "--#EVENT interface light\nreturn {operation.x, event.x}\n"
    "--#EVENT scripts all\nreturn handle_device_datapoint({alias = 'x', value = {1, 2}})\n",
    "init.lua": "Store.put{key = 'made', value = old.shout('by init')}\n",
    "solution.yaml": "formatversion: 1.0.0\ninfo: {name: x}\nendpoints:\nservices:\nmodules:\n"
    "init_script: init.lua\n",
}


async def test_a_failed_set_up_script_is_a_warning(tmp_path: Path) -> None:
    files = {
        "init.lua": "\nlocal x = nil\nx.y = 1\n",
        "solution.yaml": "formatversion: 1.0.0\ninfo: {name: x}\nendpoint:\ninit_script: init.lua\n",
    }
    async with solution_rig() as lab:
        solution = await lab.add(path=folder(tmp_path, files))
        unknown, script = solution.warnings
        assert unknown == "solution.yaml:3: endpoint: unknown key, ignored; did you mean endpoints?"
        assert script.startswith("init.lua failed at set-up: init.lua:3: attempt to index")
        assert [each.summary for each in lab.records("warning")] == solution.warnings
        other = await lab.add("other", folder(tmp_path / "2", {"modules/bad.lua": "error('no table')\n"}))
        [module] = other.warnings
        assert module.startswith("modules failed at set-up: modules/bad.lua:1: no table")
        assert {each.actor for each in lab.records("warning")} == {"acme", "other"}


async def test_a_later_folder_adds_to_an_earlier_one_and_uses_its_modules(tmp_path: Path) -> None:
    more = {"endpoints/more.lua": "--#ENDPOINT GET /more\nreturn require('lib.tool').greet('more')\n"}
    async with solution_rig() as lab:
        await lab.add(path=[folder(tmp_path / "1", FOLDER), folder(tmp_path / "2", more)])
        assert await answer(lab, "/a") == (200, "hello a")
        assert await answer(lab, "/more") == (200, "hello more")


@pytest.mark.parametrize(
    ("service", "event", "argument", "result"),
    [
        ("user", "account", {"email": "a@b.c"}, ["a@b.c", "user"]),
        ("device", "datapoint", {"alias": "t", "value": [5, "x"]}, [5, "x"]),
        ("timer", "timer", {"x": 1}, [1, 1]),
        ("scripts", "all", {}, [1, 2]),
    ],
)
async def test_event_handlers(tmp_path: Path, service: str, event: str, argument: Any, result: Any) -> None:
    async with solution_rig() as lab:
        solution = await lab.add(path=folder(tmp_path, FOLDER))
        outcome = await handle(solution, service, event, argument)
        assert outcome is not None
        assert (outcome.status, outcome.result) == (200, result)


async def test_output_goes_to_the_journal(tmp_path: Path) -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.on("user", "account", lua="print('seen', {a = 1}) log.error('bad')")
        await handle(solution, "user", "account", {})
        (script,) = lab.records("script")
        logs = lab.records("log")
        assert [each.detail for each in logs] == [{"level": "print"}, {"level": "error"}]
        assert [each.cause for each in logs] == [script.sequence] * 2
        assert "seen" in logs[0].summary
        assert logs[1].summary == "bad"
        assert script.detail is not None
        assert set(script.detail) == {"cpu", "duration"}


async def test_an_error_leaves_its_traceback_in_the_journal(tmp_path: Path) -> None:
    async with solution_rig() as lab:
        await lab.add(path=folder(tmp_path, FOLDER))
        await lab.get("/broken")
        script = lab.records("script")[-1]
        assert script.status == 500
        assert script.detail is not None
        assert str(script.detail["error"]).startswith("endpoints/first.lua:9: ")
        assert "endpoints/first.lua" in str(script.detail["trace"])
        assert str(tmp_path) not in str(script.detail)


async def test_two_solutions_share_no_globals() -> None:
    async with solution_rig() as lab:
        for name in ("acme", "other"):
            solution = await lab.add(name)
            solution.route(
                "GET", "/set", lua="counter = (counter or 0) + 1 string.mine = counter return counter"
            )
            solution.route("GET", "/get", lua="return {counter or 'none', string.mine or 'none'}")
        assert [await answer(lab, "/set") for _ in range(2)] == [(200, 1), (200, 2)]
        assert await answer(lab, "/get") == (200, [2, 2])
        assert await answer(lab, "/get", id="other") == (200, ["none", "none"])
        assert await answer(lab, "/set", id="other") == (200, 1)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"endpoints/a.lua": "--#ENDPOINT GET /a\n\nreturn return"}, "endpoints/a.lua:3: "),
        ({"endpoints/a.lua": "--#ENDPOINT GET /a\n--#ENDPOINT GET /b\nx ="}, "endpoints/a.lua:"),
        ({"services/user_account.lua": "\n\nx = = 1"}, "services/user_account.lua:3: "),
        (
            {"solution.yaml": "formatversion: 1.0.0\ninfo: {name: x}\ninit_script: i.lua", "i.lua": "x = ="},
            "i.lua:1: ",
        ),
        (
            {"modules/lib/m.lua": "\nreturn )", "endpoints/a.lua": "--#ENDPOINT GET /a"},
            "modules/lib/m.lua:2: ",
        ),
        (
            {"endpoints/a.lua": "--#ENDPOINT GET /a/{b}", "endpoints/b.lua": "\n--#ENDPOINT get /a/{c}"},
            "endpoints/b.lua:2: GET /a/{c} is in endpoints/a.lua:1 too",
        ),
        ({"endpoints/a.lua": "--#ENDPOINT GET /a/x{b}"}, "endpoints/a.lua:1: /a/x{b}"),
    ],
)
async def test_an_invalid_folder_is_refused_with_the_place(
    tmp_path: Path, files: dict[str, str], words: str
) -> None:
    async with solution_rig() as lab:
        with pytest.raises(SettingsError) as error:
            await lab.add(path=folder(tmp_path, files))
        assert str(error.value).startswith(f"{tmp_path}: ")
        assert words in str(error.value)
        assert "acme" not in lab.context.solutions
        await lab.add(id="acme")  # its name and its domain are still available


async def test_a_script_of_a_cell_that_does_not_compile() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        with pytest.raises(SettingsError, match=r"^GET /a:2: "):
            solution.route("GET", "/a", lua="\nreturn return")
        with pytest.raises(SettingsError, match=r"^user_account:1: "):
            solution.on("user", "account", lua="x = =")


async def test_a_failing_module_is_reported_by_the_journal_and_every_answer(tmp_path: Path) -> None:
    files = {"modules/m.lua": "error('no module today')", "endpoints/a.lua": "--#ENDPOINT GET /a\nreturn 1"}
    async with solution_rig() as lab:
        await lab.add(path=folder(tmp_path, files))
        assert [(each.summary, each.status) for each in lab.records("script")] == [("modules", 500)]
        status, body = await answer(lab)
        assert status == 500
        assert "no module today" in body["error"]


async def test_more_runs_than_guard_scripts_wait_for_one_to_end() -> None:
    async with solution_rig(scripts=2) as lab:
        solution = await lab.add()
        solution.route("GET", "/a", lua="print('began') Store.wait{} return 1")
        lab.store.gate.clear()
        arrived = asyncio.Event()

        def count(_: object) -> None:
            if len(lab.records("request")) == 5:
                arrived.set()

        lab.journal.watch(count)
        answers = [asyncio.create_task(answer(lab)) for _ in range(5)]
        await arrived.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(lab.records("log")) == 2
        lab.store.gate.set()
        assert await asyncio.gather(*answers) == [(200, 1)] * 5
