"""Solution folders: each rule of the layout, and the errors of mistakes."""

import json
from pathlib import Path
from tempfile import mkdtemp

import pytest

from labkit.core.errors import SettingsError
from labkit.solutions.folders.cors import Cors
from labkit.solutions.folders.folder import SolutionFolder, read
from tests.cases import cases

PROJECT = "formatversion: 1.0.0\ninfo: {name: acme}\n"


def folder(root: Path, files: dict[str, str]) -> SolutionFolder:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return read(root)


def fresh(folder: Path) -> Path:
    """Return an empty folder inside another."""
    return Path(mkdtemp(dir=folder))


def routes(found: SolutionFolder) -> list[tuple[str, str, str]]:
    return [(each.method, each.path, each.content_type) for each in found.endpoints]


def handlers(found: SolutionFolder) -> list[tuple[str, str]]:
    return [(each.service, each.event) for each in found.events]


@cases(
    ("text", "expected"),
    [
        ("--#ENDPOINT GET /a", [("GET", "/a", "application/json")]),
        ("--#ENDPOINT get /a", [("GET", "/a", "application/json")]),
        ("--#ENDPOINT POST /a text/plain", [("POST", "/a", "text/plain")]),
        ("--#ENDPOINT POST /a text/plain; charset=x ", [("POST", "/a", "text/plain; charset=x")]),
        ("  x --#ENDPOINT GET /a\r\nreturn 1\r\n", [("GET", "/a", "application/json")]),
        ("--#ENDPOINT WEBSOCKET /a", [("WEBSOCKET", "/a", "application/json")]),
        ("--#ENDPOINT GET /a\nreturn 1\n--#ENDPOINT PUT /a/{b}", [
            ("GET", "/a", "application/json"), ("PUT", "/a/{b}", "application/json")]),
        ("-- no header\nreturn 1", []),
        ("--#ENDPOINTS GET /a", []),
        ("", []),
    ],
)  # fmt: skip
def test_endpoint_headers(tmp_path: Path, text: str, expected: list[tuple[str, str, str]]) -> None:
    assert routes(folder(tmp_path, {"endpoints/any/name.lua": text})) == expected


def test_an_endpoints_script_extends_from_its_header_to_the_next(tmp_path: Path) -> None:
    text = "-- ignored\n--#ENDPOINT GET /a\nreturn 1\n\n--#ENDPOINT GET /b\nreturn 2"
    first, second = folder(tmp_path, {"endpoints/x.lua": text}).endpoints
    assert (first.script.where, first.script.source) == (
        "endpoints/x.lua:2",
        "--#ENDPOINT GET /a\nreturn 1\n",
    )
    assert (second.script.where, second.script.source) == (
        "endpoints/x.lua:5",
        "--#ENDPOINT GET /b\nreturn 2",
    )


def test_tags_are_directly_below_the_header(tmp_path: Path) -> None:
    text = """--#ENDPOINT GET /a
--#SECURITY bearer
--#RATELIMIT 10
--#TAGS one two
--#SUMMARY Short words
--#DESCRIPTION Longer words
--#ENDPOINT GET /b
return 1
--#SUMMARY late"""
    first, second = folder(tmp_path, {"endpoints/x.lua": text}).endpoints
    tags = first.tags
    assert (tags.security, tags.rate_limit, tags.tags) == (("bearer",), 10, ("one", "two"))
    assert (tags.summary, tags.description) == ("Short words", "Longer words")
    assert (second.tags.security, second.tags.summary) == (None, "")


@cases(
    ("name", "text", "expected"),
    [
        ("any.lua", "--#EVENT device datapoint", [("device", "datapoint")]),
        ("any.lua", "--#EVENT device datapoint\nx()\n--#EVENT user account", [
            ("device", "datapoint"), ("user", "account")]),
        ("any.lua", "--#EVENT {product.id} event", [("{product.id}", "event")]),
        ("user.lua", "--#EVENT account", [("user", "account")]),
        ("folder/timer.lua", "--#EVENT timer", [("timer", "timer")]),
        ("user_account.lua", "x()", [("user", "account")]),
        ("scripts_async_job.lua", "x()", [("scripts", "async_job")]),
        ("{product.id}_event.lua", "x()", [("{product.id}", "event")]),
        ("device2_event.lua", "", [("device2", "event")]),
        ("timer/timer.lua", "x()", [("timer", "timer")]),
        ("scripts/async_job.lua", "x()", [("scripts", "async_job")]),
        ("user/user_account.lua", "x()", [("user", "account")]),
        ("user_account.lua", "--#EVENT device datapoint", [("device", "datapoint")]),
    ],
)  # fmt: skip
def test_events(tmp_path: Path, name: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert handlers(folder(fresh(tmp_path), {f"services/{name}": text})) == expected


def test_modules_are_named_by_their_path(tmp_path: Path) -> None:
    found = folder(tmp_path, {"modules/util.lua": "1", "modules/lib/deep/a.lua": "2", "modules/t.x.lua": "3"})
    assert {name: script.file for name, script in found.modules.items()} == {
        "util": "modules/util.lua",
        "lib.deep.a": "modules/lib/deep/a.lua",
        "t.x": "modules/t.x.lua",
    }


def test_service_configuration(tmp_path: Path) -> None:
    files = {
        "services/notify.yaml": "AccountSid: AC1",
        "services/user/user.yml": "a: [1]",
        "services/sms.yaml": "",
    }
    expected = {"notify": {"AccountSid": "AC1"}, "user": {"a": [1]}, "sms": {}}
    assert folder(tmp_path, files).configuration == expected


def test_without_a_project_file_the_default_folders_apply(tmp_path: Path) -> None:
    files = {
        "routes/a.lua": "--#ENDPOINT GET /a",
        "event_handler/device_datapoint.lua": "x()",
        "files/index.html": "<p>",
        "cors.yaml": "origin: true",
    }
    found = folder(tmp_path, files)
    assert routes(found) == [("GET", "/a", "application/json")]
    assert handlers(found) == [("device", "datapoint")]
    assert found.assets["/"].file == tmp_path / "files/index.html"
    assert found.cors.origin is True


def test_files_of_an_absent_section_are_ignored(tmp_path: Path) -> None:
    files = {"endpoints/a.lua": "--#ENDPOINT GET /a", "services/user_account.lua": "", "modules/m.lua": ""}
    found = folder(tmp_path, {**files, "solution.yaml": PROJECT + "services:\n"})
    assert (routes(found), found.modules) == ([], {})
    assert handlers(found) == [("user", "account")]


@cases(
    ("section", "chosen"),
    [
        ("{}", ["a", "a_test", "sub/b", "sub/b_spec", ".hidden/c"]),
        ("{include: '*.lua'}", ["a", "a_test", "sub/b", "sub/b_spec", ".hidden/c"]),
        ("{include: b.lua}", ["sub/b"]),
        ("{include: ./*.lua}", ["a", "a_test"]),
        ("{include: [sub/*.lua, a.lua]}", ["a", "sub/b", "sub/b_spec"]),
        ("{exclude: ['*_test.lua', '*_spec.lua', '.*']}", ["a", "sub/b"]),
        ("{exclude: sub/**}", ["a", "a_test", ".hidden/c"]),
        ("{exclude: '**/b*'}", ["a", "a_test", ".hidden/c"]),
    ],
)
def test_include_and_exclude(tmp_path: Path, section: str, chosen: list[str]) -> None:
    names = ["a", "a_test", "sub/b", "sub/b_spec", ".hidden/c"]
    files = {f"endpoints/{name}.lua": f"--#ENDPOINT GET /{name}" for name in names}
    found = folder(tmp_path, {**files, "solution.yaml": PROJECT + f"endpoints: {section}"})
    assert {path for _, path, _ in routes(found)} == {f"/{name}" for name in chosen}


def test_a_project_file_may_set_folders(tmp_path: Path) -> None:
    files = {
        "my-platform.yaml": PROJECT
        + "routes: {location: web, cors: my-cors.yaml}\ninit_script: ./first.lua\n"
        "assets: {location: www, default_page: home.html}\n",
        "web/a.lua": "--#ENDPOINT GET /a",
        "my-cors.yaml": "origin: https://x.example\n",
        "first.lua": "x()",
        "www/home.html": "",
        "www/css/.hidden": "",
        "www/css/a.css": "",
    }
    found = folder(tmp_path, files)
    assert routes(found) == [("GET", "/a", "application/json")]
    assert found.cors.origin == ("https://x.example",)
    assert [script.file for script in found.init_scripts] == ["first.lua"]
    assert sorted(found.assets) == ["/", "/css/a.css", "/home.html"]


def test_the_first_of_several_project_files_is_used_with_a_warning(tmp_path: Path) -> None:
    found = folder(
        tmp_path, {"b.yaml": PROJECT + "endpoints:", "a.yaml": PROJECT + "odd: 1", "c.yaml": "x: 1"}
    )
    assert found.warnings == ["b.yaml: ignored, a.yaml comes first", "a.yaml:3: odd: unknown key, ignored"]


def test_a_misspelt_section_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    found = folder(tmp_path, {"solution.yaml": PROJECT + "endpoint: {location: web}\nservices: {}\nzzz: 1"})
    assert found.warnings == [
        "solution.yaml:3: endpoint: unknown key, ignored; did you mean endpoints?",
        "solution.yaml:5: zzz: unknown key, ignored",
        "solution.yaml: services.location: no 'services'",
    ]


@cases(
    "foreign",
    [
        "a: [1",  # broken YAML
        "Resources: !Ref Bucket",  # another program's tags
        "a: 1\n---\nb: 2",  # several documents
        "a: 1\na: 2",
        "when: 2021-99-99",
        "a: \xff\x00",
        "{" * 5000,
    ],
)
def test_a_yaml_file_that_cannot_be_read_is_no_project_file(tmp_path: Path, foreign: str) -> None:
    (tmp_path / "compose.yaml").write_bytes(foreign.encode("latin-1"))
    found = folder(tmp_path, {"endpoints/a.lua": "--#ENDPOINT GET /a"})
    assert routes(found) == [("GET", "/a", "application/json")]
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("compose.yaml: ")
    assert found.warnings[0].endswith("; ignored")


def test_later_folders_add_to_earlier_ones(tmp_path: Path) -> None:
    first = {
        "endpoints/a.lua": "--#ENDPOINT GET /a",
        "modules/m.lua": "1",
        "services/user_account.lua": "",
        "services/notify.yaml": "{a: 1, b: 1}",
        "assets/index.html": "",
        "cors.yaml": "origin: true",
    }
    second = {
        "solution.yaml": PROJECT + "endpoints:\nmodules:\nservices:\nassets:\ninit_script: i.lua\nodd: 1",
        "i.lua": "x()",
        "endpoints/a.lua": "--#ENDPOINT POST /a",
        "modules/n.lua": "2",
        "services/device_datapoint.lua": "",
        "services/notify.yaml": "{b: 2}",
        "assets/more.css": "",
    }
    folder(tmp_path / "1", first)
    folder(tmp_path / "2", second)
    found = read(tmp_path / "1", tmp_path / "2")
    assert [(method, path) for method, path, _ in routes(found)] == [("GET", "/a"), ("POST", "/a")]
    assert handlers(found) == [("user", "account"), ("device", "datapoint")]
    assert sorted(found.modules) == ["m", "n"]
    assert found.configuration == {"notify": {"a": 1, "b": 2}}
    assert sorted(found.assets) == ["/", "/index.html", "/more.css"]
    assert found.cors.origin is True
    assert [script.file for script in found.init_scripts] == ["i.lua"]
    assert found.warnings == ["solution.yaml:8: odd: unknown key, ignored"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("modules/m.lua", "module 'm' is in"),
        ("services/user_account.lua", "user account is handled in"),
        ("assets/a.css", "/a.css is "),
    ],
)
def test_a_definition_in_two_folders_is_an_error(tmp_path: Path, name: str, words: str) -> None:
    for each in "12":
        folder(tmp_path / each, {name: ""})
    with pytest.raises(SettingsError, match=words) as error:
        read(tmp_path / "1", tmp_path / "2")
    assert str(error.value).startswith(f"{tmp_path / '2'}: ")


@pytest.mark.parametrize(
    "older",
    [
        {
            "version": "0.2",
            "default_page": "index.html",
            "file_dir": "public",
            "custom_api": "api.lua",
            "custom_api_hook": "_init",
            "modules": {"util": "lib/u.lua"},
            "event_handler": {"device": {"datapoint": "h.lua"}},
            "cors": json.dumps({"origin": True}),
        },
        {
            "version": "0.3",
            "default_page": "index.html",
            "assets": "public",
            "routes": "api.lua",
            "routes_hook": "_init",
            "modules": {"util": "lib/u.lua"},
            "services": {"device": {"datapoint": "h.lua"}},
            "cors": {"origin": True},
        },
    ],
)
def test_older_project_files(tmp_path: Path, older: dict[str, object]) -> None:
    files = {
        "Solutionfile.json": json.dumps(older),
        "api.lua": "--#ENDPOINT GET /_init",
        "lib/u.lua": "util = {}",
        "h.lua": "x()",
        "public/index.html": "<p>",
    }
    found = folder(tmp_path, files)
    assert routes(found) == [("GET", "/_init", "application/json")]
    assert handlers(found) == [("device", "datapoint")]
    assert found.modules["util"].file == "lib/u.lua"
    assert found.hooks == ["/_init"]
    assert found.assets["/"].name == "index.html"
    assert found.cors.origin is True


def test_an_older_project_file_may_omit_nearly_all(tmp_path: Path) -> None:
    found = folder(tmp_path, {"Solutionfile.json": '{"custom_api": "a.lua"}', "a.lua": "--#ENDPOINT GET /a"})
    assert routes(found) == [("GET", "/a", "application/json")]
    assert found.assets == {}


@cases(
    ("files", "words"),
    [
        ({"endpoints/a.lua": "\n--#ENDPOINT FETCH /a"}, "endpoints/a.lua:2: expected a method"),
        ({"endpoints/a.lua": "--#ENDPOINT"}, "endpoints/a.lua:1: expected a method"),
        ({"endpoints/a.lua": "--#ENDPOINT GET"}, "endpoints/a.lua:1: expected a path"),
        ({"endpoints/a.lua": "--#ENDPOINT GET /a\n--#SECURITY maybe"}, "endpoints/a.lua:2: --#SECURITY"),
        ({"endpoints/a.lua": "--#ENDPOINT GET /a\n--#RATELIMIT few"}, "endpoints/a.lua:2: --#RATELIMIT"),
        ({"services/a_b.lua": "x()\n--#EVENT"}, "services/a_b.lua:2: expected --#EVENT"),
        ({"services/a_b.lua": "--#EVENT a b c"}, "services/a_b.lua:1: expected --#EVENT"),
        ({"services/lonely.lua": "x()"}, "services/lonely.lua: names no event"),
        (
            {"services/deviceDatapoint.lua": "x()"},
            "<service>_<event>.lua; did you mean device_datapoint.lua?",
        ),
        (
            {"modules/a/b.lua": "", "modules/a.b.lua": ""},
            "modules/a.b.lua: module 'a.b' is in modules/a/b.lua too",
        ),
        ({"services/user.yaml": "- 1"}, "services/user.yaml: expected parameters"),
        ({"services/user.yaml": "a: [1"}, "services/user.yaml: is not YAML"),
        ({"solution.yaml": "formatversion: 2.0.0\ninfo: {}"}, "solution.yaml: formatversion:"),
        ({"solution.yaml": "formatversion: 1.0.0"}, "solution.yaml: info: is required"),
        ({"solution.yaml": PROJECT + "endpoints: {locations: x}"}, "locations: unknown key (line 3)"),
        ({"solution.yaml": PROJECT + "init_script: ../none.lua"}, "init_script: ../none.lua"),
        (
            {"solution.yaml": PROJECT + "endpoints: {include: /x}", "endpoints/a": ""},
            "endpoints: include, exclude",
        ),
        ({"solution.yaml": PROJECT + "endpoints: {cors: no.yaml}"}, "no.yaml: cannot be read"),
        ({"Solutionfile.json": "{"}, "Solutionfile.json: cannot be read"),
        ({"Solutionfile.json": "[" * 100_000}, "Solutionfile.json: cannot be read"),
        ({"Solutionfile.json": json.dumps({"cors": "[" * 100_000})}, "Solutionfile.json: cannot be read"),
        ({"Solutionfile.json": '{"modules": []}'}, "Solutionfile.json: modules"),
    ],
)
def test_mistakes_are_errors_with_their_place(tmp_path: Path, files: dict[str, str], words: str) -> None:
    root = fresh(tmp_path)
    with pytest.raises(SettingsError) as error:
        folder(root, files)
    assert str(error.value).startswith(f"{root}: ")
    assert words in str(error.value)


def test_the_last_handler_of_an_event_runs(tmp_path: Path) -> None:
    files = {
        "services/a.lua": "--#EVENT timer timer\n--#EVENT User account\nfirst()",
        "services/deep/b.lua": "\n--#EVENT user account\nsecond()\n--#EVENT device2 event",
        "services/user_account.lua": "third()",
    }
    found = folder(tmp_path, files)
    assert handlers(found) == [("timer", "timer"), ("device2", "event"), ("user", "account")]
    assert found.events[2].script.source == "third()"
    assert found.warnings == [
        "services/a.lua:2: user account is handled in services/deep/b.lua:2 too, so that this does not run",
        "services/deep/b.lua:2: user account is handled in services/user_account.lua:1 too, so that this does not run",
    ]


def test_a_missing_script_of_the_set_up_is_a_warning(tmp_path: Path) -> None:
    found = folder(tmp_path, {"solution.yaml": PROJECT + "init_script: none é.lua"})
    assert found.init_scripts == []
    assert found.warnings == ["none é.lua: init_script: no such file, so that nothing runs at set-up"]


@pytest.mark.parametrize("text", ["", " ", "{}"])
def test_cors_of_an_older_project_may_be_an_empty_text(tmp_path: Path, text: str) -> None:
    found = folder(tmp_path, {"Solutionfile.json": json.dumps({"cors": text})})
    assert found.cors == Cors()


def test_a_file_that_is_not_utf8_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints/a.lua").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"endpoints/a\.lua: cannot be read"):
        read(tmp_path)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        read(tmp_path / "nothing")
