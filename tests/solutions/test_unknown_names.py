"""Fields and globals that scripts use and that do not exist are found, nothing else is, and shapes.toml is true."""

from __future__ import annotations

import json
from dataclasses import fields as attributes
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.core.errors import LabWarning
from labkit.solutions.checking import shapes
from labkit.solutions.checking.script_review import missing_calls, of_operations
from labkit.solutions.checking.unknown_names import MOST, of_names
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.scripts import EndpointScript, ScriptSource
from labkit.solutions.lua.globals import script_globals
from labkit.solutions.web.response import Response

VALUE = "a table with the field value"
GIVEN = {
    "request": {**shapes.fields("request"), "parameters": "/lamp/{ID}"},
    **{name: shapes.fields(name) for name in ("response", "context")},
    "data": {"alias": "one of `temperature`", "value": "a list", "api": "`write` or `record`"},
}


def folder(*texts: str) -> SolutionFolder:
    scripts = [ScriptSource(f"{number}.lua", 1, text) for number, text in enumerate(texts)]
    return SolutionFolder(endpoints=[EndpointScript("GET", "/", "text/plain", each) for each in scripts])


def found(*texts: str, services: tuple[str, ...] = ("Keystore",)) -> list[str]:
    whole = folder(*texts)
    return [str(each) for each in of_names(whole, dict.fromkeys(whole.scripts(), GIVEN), services)]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("\nresponse.cod = 404", 2, "response has no field 'cod'; did you mean code?"),
        ("response = {cod = 404}", 1, "response has no field 'cod'; did you mean code?"),
        ("return request.paramters.id", 1, "request has no field 'paramters'; did you mean parameters?"),
        ("return {alais = data.alais}", 1, "data has no field 'alais'; did you mean alias?"),
        ("return data.sn", 1, "data has no field 'sn'; there are: alias, value, api"),
        ("return data.alais or 1", 1, "data has no field 'alais'; did you mean alias?"),
        (
            "f = print\nlocal d = data\nf(d)\nreturn d.alais",
            4,
            "data has no field 'alais'; did you mean alias?",
        ),
        ("retrun(1)", 1, "no script assigns the global 'retrun', so that it is nil; did you mean return?"),
        (
            "local stat = 1 return sat",
            1,
            "no script assigns the global 'sat', so that it is nil; did you mean stat?",
        ),
        ("return {key = key}", 1, "no script assigns the global 'key', so that it is nil"),
        ("do local x = 1 end\nf = 2 return x", 2, "no script assigns the global 'x', so that it is nil"),
        ("for i = 1, 2 do end\nreturn i", 2, "no script assigns the global 'i', so that it is nil"),
        (
            "local size = 1 if siz then end",
            1,
            "no script assigns the global 'siz', so that it is nil; did you mean size?",
        ),
        (
            "local M = require 'm' R.x()",
            1,
            "no script assigns 'R', and no service has this name; did you mean M?",
        ),
        (
            "if #request.query > 1 then end",
            1,
            "request has no field 'query'; there are: " + ", ".join(GIVEN["request"]),
        ),
        (
            "JSON.stringify(1)",
            1,
            "no script assigns 'JSON', and no service has this name; did you mean json?",
        ),
        (
            "\nprint(request.headers['X-Key'])",
            2,
            "request.headers has names in lower case, so that 'X-Key' is nil; did you mean 'x-key'?",
        ),
        (
            "return request.parameters.id",
            1,
            "request.parameters has no 'id' of the path /lamp/{ID}; did you mean ID?",
        ),
        (
            "if data.alias == 'temprature' then end",
            1,
            "data.alias is never 'temprature': it is one of `temperature`",
        ),
        (
            "return tonumber(Keystore.get{key = 'n'}) or 0",
            1,
            f"Keystore.get{{…}} is {VALUE}, and never nil",
        ),
        (
            "if nil == Keystore.get{} then end",
            1,
            "Keystore.get{…} is a table with the field value, and never nil",
        ),
        ("return Keystore.get{key = 'n'}.data", 1, "Keystore.get{…} has no field 'data': it is " + VALUE),
        (
            "return request.parameters.other",
            1,
            "request.parameters has no 'other', unless a query has it: the path is /lamp/{ID}",
        ),
        ("return data.value[0]", 1, "data.value[0] is nil: it is a list, from 1"),
        ("if 'writes' ~= data.api then end", 1, "data.api is never 'writes': it is `write` or `record`"),
        (
            "return event",
            1,
            "no script assigns the global 'event', so that it is nil; this script has: " + ", ".join(GIVEN),
        ),
    ],
)
def test_a_name_that_does_not_exist_is_found(text: str, line: int, problem: str) -> None:
    assert found(text) == [f"0.lua:{line}: {problem}"]


@pytest.mark.parametrize(
    "text",
    [
        "response.code = 1 response.headers.x = 1 return request.parameters.ID .. request.parameters.anything",
        "local all = request.parameters return request.parameters.anything",
        "local request = {} return request.user",
        "return function(request) return request.user end",
        "data = {} return data.anything",
        "request.user = 1 return request.user",
        "sign_in(request) return request.user function sign_in(r) r.user = 1 end",
        "response.cod = 1 return response",
        "response.seen = 1 if response.seen then end",
        "return data.device_sn or data.identity or (event or data).alias",
        "x = 1 function f() return x, f end",
        "local a, b = 1 local function g(c, ...) return a, b, c, g end",
        "for i, j in pairs({}) do print(i, j) end for k = 1, 2 do print(k) end",
        "repeat local done = true until done",
        "function t.f() end t = {} function t:g() return self end",
        "if debug then end local u = utf8 or jit local k = bit32 and 1 return type(io)",
        "for name, value in pairs({x = 1}) do _G[name] = value end return x",
        "_G.x = 1 return x",
        "loadstring('x = 1')() return x",
        "return request.headers['X-Key'] or request.headers['x-key'], request.parameters.ID, request.parameters.id",
        "data.value = {[0] = 1} return data.value[0], data.value[1] == 0, data.api .. 'x', data.api == 'write'",
        "return data.alias == 'humidity', tonumber(Keystore.get{}.value), Keystore.command{} == nil",
        "goto x ::x:: local u = 1 local t = {y = 1, [u] = 2, u}",
        "Keystore.get{} Twilio.post{} return MAX",
        "local y = = 1 return x",
        "",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert found(text) == []


def test_a_global_of_any_script_is_known_to_all() -> None:
    assert found("return x, request.user", "x = 1") == [
        "0.lua:1: request has no field 'user'; there are: " + ", ".join(GIVEN["request"])
    ]


def test_a_local_name_of_a_service_does_not_hide_its_calls() -> None:
    services = {"Keystore": {"get"}, "User": {"listUsers"}, "Config": {"solution"}}
    whole = folder(
        "local K = Keystore\nK.gett{}\nK:get{}",
        "User.list() Config.updateEnv{}",
        "local T = Twilio T.post{To = 1}",
    )
    assert [str(each) for each in of_operations(whole, services)] == [
        "0.lua:2: Keystore has no operation 'gett'; did you mean get?",
        "1.lua:1: User has no operation 'list'; did you mean listUsers?",
        "1.lua:1: Config.updateEnv is known by name only: labkit does not have it",
        "0.lua:3: expected a dot instead of the colon: Keystore.get",
    ]  # fmt: skip
    [call] = missing_calls(whole, services)
    assert (call.service, call.operation, call.arguments) == ("Twilio", "post", ("To",))
    for text in (
        "local K = Keystore K = mine K.gett{}",
        "local K = Keystore extend(K) K.gett{}",
        "local K = Keystore K.gett = 1 K.gett()",
    ):
        assert list(of_operations(folder(text), services)) == []
    assert missing_calls(folder("local M = require 'moses' R.keys(x)"), services) == []


def test_of_many_unknown_names_the_first_are_told() -> None:
    *_, last = names = found("\n".join(f"print(a{number})" for number in range(100)))
    assert (len(names), last) == (
        MOST + 1,
        f"0.lua: more than {MOST} names are unknown, of which the others are left out",
    )


def test_a_lab_tells_of_them_at_load_and_when_they_are_set(tmp_path: Path) -> None:
    for name, text in {
        "endpoints/a.lua": "--#ENDPOINT GET /a\nresponse.cod = 404\n"
        "--#ENDPOINT WEBSOCKET /w\nlocal info = websocketInfo\nreturn info.tpye\n",
        "services/device_datapoint.lua": "print(data.alais)\n",
        "services/timer_timer.lua": "print(message.timer, context.soluton_id)\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with Lab(seed=7) as lab:
        with pytest.warns(LabWarning) as told:
            acme = lab.solution("acme", path=tmp_path)
        assert [str(each.message).removeprefix("solution 'acme': ") for each in told] == [
            "endpoints/a.lua:2: response has no field 'cod'; did you mean code?",
            "endpoints/a.lua:5: websocketInfo has no field 'tpye'; did you mean type?",
            "services/device_datapoint.lua:1: data has no field 'alais'; did you mean alias?",
            "services/timer_timer.lua:1: message has no field 'timer'; did you mean timer_id?",
            "services/timer_timer.lua:1: context has no field 'soluton_id'; did you mean solution_id?",
        ]
        hint = "response: there is no field 'cod'; did you mean code?"
        with pytest.warns(LabWarning, match=r"solution 'acme', GET /a: " + hint[:-1]):
            assert acme.get("/a").status_code == 200
        assert hint in list(acme.logs.text)
        acme.route("GET", "/b", lua="response.cod = 404 return response")
        assert acme.get("/b").json() == {"code": 200, "cod": 404, "headers": {}}


async def test_the_globals_are_those_of_scripts() -> None:
    assert shapes.shapes()["globals"].split() == sorted(await script_globals())


def test_the_fields_are_those_of_real_tables() -> None:
    seen: dict[str, Any] = {}
    names = "local names = {} for name in pairs(%s) do names[#names + 1] = name end\n"
    with Lab(seed=7) as lab:
        acme = lab.solution("acme")
        for table in ("request", "context"):
            acme.route("GET", "/", lua=f"{names % table} return names", replace=True)
            seen[table] = acme.get("/").json()
        lua = f"{names % 'websocketInfo'} websocketInfo.send(names)"
        acme.route("WEBSOCKET", "/", lua=f"{lua} websocketInfo.close()")
        with acme.websocket("/") as socket:
            seen["websocketInfo"] = [
                *json.loads(socket.receive()),
                "message",
                "message_type",
                "send",
                "close",
            ]
    seen["context"].append("caller_id")
    seen["response"] = [each.name for each in attributes(Response)]
    assert {name: sorted(each) for name, each in seen.items()} == {
        name: sorted(each) for name, each in shapes.shapes()["tables"].items()
    }
