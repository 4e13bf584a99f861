"""Mistakes of a solution folder: all of it at once, with file and line."""

from pathlib import Path

from labkit.solutions.folders.folder import read_partly
from tests.cases import cases
from tests.solutions.test_folder import PROJECT, fresh


def errors(root: Path, files: dict[str, str | bytes]) -> tuple[list[str], list[str]]:
    """Return the errors, without the folder, and the warnings of a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = read_partly(root)
    return [each.removeprefix(f"{root}: ") for each in found.errors], found.warnings


def test_each_wrong_header_of_a_file_is_an_error_at_its_line(tmp_path: Path) -> None:
    text = "--#ENDPOINT FETCH /a\n--#ENDPOINT GET\n--#ENDPOINT GET /c\n--#TAGS a\n--#AUTH basic barer\n--#RATELIMIT é\n"
    kinds = "expected one of apiKey, basic, bearer, none"
    found, _ = errors(
        tmp_path, {"endpoints/a.lua": text, "services/b.lua": "--#EVENT\n--#EVENT a b\n--#EVENT a b c"}
    )
    assert found == [
        "endpoints/a.lua:1: expected a method after --#ENDPOINT, not 'FETCH'",
        "endpoints/a.lua:2: expected a path after --#ENDPOINT GET",
        f"endpoints/a.lua:5: --#AUTH: {kinds}, not 'barer'; did you mean bearer?",
        "endpoints/a.lua:6: --#RATELIMIT: expected a number of requests a minute, not 'é'",
        "services/b.lua:1: expected --#EVENT <service> <event>, not ''",
        "services/b.lua:3: expected --#EVENT <service> <event>, not 'a b c'",
    ]


def test_tags_may_follow_comments_and_empty_lines_and_below_code_they_are_errors(tmp_path: Path) -> None:
    above = "--#ENDPOINT GET /a\n\n-- of owners\n  --#SECURITY bearer\n--\n--#RATELIMIT 5\nreturn 1\n"
    below = "--#ENDPOINT GET /b\nlocal a = 1\n--#AUTH bearer\n--#RATELIMIT 5\n--#TAGS a\n"
    comment = "--#ENDPOINT GET /c\n--[[ more\n]]\n--#SECURITY bearer\n"
    assert errors(tmp_path, {"endpoints/a.lua": above}) == ([], [])
    [route] = read_partly(tmp_path).endpoints
    assert (route.tags.security, route.tags.rate_limit) == (("bearer",), 5)
    found, _ = errors(tmp_path, {"endpoints/b.lua": below + comment})
    assert found == [
        "endpoints/b.lua:3: --#AUTH stands below code, expected above",
        "endpoints/b.lua:4: --#RATELIMIT stands below code, expected above",
        "endpoints/b.lua:9: --#SECURITY stands below code, expected above",
    ]


def test_what_is_wrong_in_one_section_hides_no_other(tmp_path: Path) -> None:
    project = PROJECT + "endpoints: {include: ../x.lua}\nmodules:\nservices:\ninit_script: ../none.lua\n"
    found, _ = errors(
        tmp_path,
        {
            "solution.yaml": project,
            "endpoints/a.lua": "",
            "modules/m.lua": b"\xff",
            "modules/n.lua": "return 1",
            "services/a.lua": "--#EVENT user account x",
            "services/user.yaml": "a: 1\nb: 2\na: 3\n",
            "roles.yaml": "- {}\n- owner\n",
        },
    )
    assert [each.partition(": ")[0] for each in found] == [
        "endpoints", "modules/m.lua", "services/a.lua:1", "services/user.yaml", "init_script",
        "roles.yaml", "roles.yaml",
    ]  # fmt: skip
    assert found[3] == "services/user.yaml: a: is given twice (line 3)"
    assert found[5] == "roles.yaml: roles[0].role_id: is required (line 1)"
    assert set(read_partly(tmp_path).modules) == {"n"}


def test_headers_in_the_folder_of_another_section_are_warnings(tmp_path: Path) -> None:
    _, found = errors(
        tmp_path,
        {
            "endpoints/a.lua": "--#ENDPOINT GET /a\n--#EVENT timer timer\n",
            "services/timer_timer.lua": "return 1\n  --#ENDPOINT GET /b\n-- as --#ENDPOINT says\n",
            "modules/m.lua": "--#EVENT a b\n",
        },
    )
    assert found == [
        "services/timer_timer.lua:2: --#ENDPOINT has no effect here, it belongs in endpoints/",
        "endpoints/a.lua:2: --#EVENT has no effect here, it belongs in services/",
        "modules/m.lua:1: --#EVENT has no effect here, it belongs in services/",
    ]


def test_a_file_that_two_sections_read_has_headers_of_both(tmp_path: Path) -> None:
    project = PROJECT + "endpoints: {location: all}\nservices: {location: all}\n"
    files: dict[str, str | bytes] = {
        "solution.yaml": project,
        "all/a.lua": "--#ENDPOINT GET /a\n--#EVENT a b\n",
    }
    assert errors(tmp_path, files) == ([], [])


@cases(
    ("include", "files", "expected"),
    [
        ("'**'", ["a.lua"], ["endpoints/: include: '**' matches no file; did you mean '**/*'?"]),
        ("['*.lua', '*.lau']", ["a.lua"], ["endpoints/: include: '*.lau' matches no file"]),
        ("x", ["x/a.lua"], ["endpoints/: include: 'x' matches no file; did you mean 'x/*'?"]),
        ("'*.lau'", [".gitkeep"], []),
        ("'**/*.lua'", ["b/a.lua"], []),
    ],
)
def test_a_pattern_that_matches_no_file_is_a_warning(
    tmp_path: Path, include: str, files: list[str], expected: list[str]
) -> None:
    text = PROJECT + f"endpoints: {{include: {include}}}\n"
    scripts = {f"endpoints/{each}": "--#ENDPOINT GET /a" for each in files}
    assert errors(fresh(tmp_path), {"solution.yaml": text, **scripts})[1] == expected


@cases(
    "row",
    [
        (
            {"cors.yaml": "origin: true\norgin: [a]\n"},
            "cors.yaml:2: orgin: unknown key, ignored; did you mean origin?",
        ),
        (
            {"solution.yaml": PROJECT + "endpoints: {cors: {credentails: false}}", "endpoints/a.lua": ""},
            "cors: credentails: unknown key, ignored; did you mean credentials?",
        ),
        (
            {"Solutionfile.json": '{"event_handlers": {}, "version": "0.2", "table": 1}'},
            "Solutionfile.json: event_handlers: unknown key, ignored; did you mean event_handler?",
        ),
        (
            {
                "Solutionfile.json": (
                    '{"routes": "routes.lua", "modules": {"m": "m.lau"}, "services": {"a": {"b": "c"}}}'
                ),
                "m.lua": "",
            },
            "Solutionfile.json: routes: no file 'routes.lua'",
            "Solutionfile.json: modules.m: no file 'm.lau'; did you mean m.lua?",
            "Solutionfile.json: services.a.b: no file 'c'",
        ),
        (
            {
                "cors.yaml": "origin: ['*', a.com, 'http://a.com/', 'http://*.a.com:*']\n"
                "methods: [GETT, PUT]\nheaders: 'A, B C'\n"
            },
            "cors.yaml:1: origin: '*' is no origin; did you mean true, for every origin?",
            "cors.yaml:1: origin: 'a.com' is no origin, such as https://example.com",
            "cors.yaml:1: origin: 'http://a.com/' is no origin, such as https://example.com",
            "cors.yaml:2: methods: 'GETT' is no method; did you mean GET?",
            "cors.yaml:3: headers: 'B C' is not the name of a header",
        ),
        (
            {
                "roles.yaml": "- role_id: a\n  paramter: []\n"
                "- role_id: b\n  parameter:\n  - {name: sn}\n  - {nmae: id}\n"
            },
            "roles.yaml:2: roles[0].paramter: unknown key, ignored; did you mean parameter?",
            "roles.yaml:6: roles[1].parameter[1].nmae: unknown key, ignored; did you mean name?",
        ),
        (
            {"endpoints/schema.yml": "path: {}\nhost: x\npaths:\n  /a:\n    gett: {}\n    put: {}\n"},
            "endpoints/schema.yml:1: path: unknown key; did you mean paths?",
            "endpoints/schema.yml:5: paths./a.gett: unknown key; did you mean get?",
        ),
        *(
            ({"endpoints/a.lua": f"--#ENDPOINT {header}\n"}, f"endpoints/a.lua:1: {expected}")
            for header, expected in [
                ("GET /a/:sn", "':sn' is no placeholder; did you mean {sn}?"),
                ("GET /a/<int:sn>/b", "'<int:sn>' is no placeholder; did you mean {sn}?"),
                ("GET /a/${sn}", "'${sn}' is no placeholder; did you mean {sn}?"),
                ("GET /a/{sn", "'{sn' is no placeholder; did you mean {sn}?"),
                ("GET /a/x{sn}", "'x{sn}' is no placeholder, which is a whole part of a path: {name}"),
                ("GET /a?b=1", "no request has a '?' in its path; its query is in request.parameters"),
                (
                    "POST /a aplication/json",
                    "'aplication/json' is no content type; did you mean application/json?",
                ),
                ("POST /a json", "'json' is no content type, such as application/json"),
                ("POST /a text/plian", "no client sends 'text/plian'; did you mean text/plain?"),
            ]
        ),
        (
            {
                "endpoints/a.lua": "--#ENDPOINT GET /{a}/b:c text/html; charset=utf-8\n"
                "--#ENDPOINT PUT /a application/vnd.api+json\n--#ENDPOINT POST /a multipart/form-data\n"
                "--#ENDPOINT POST /b image/svg+xml\n"
            },
        ),
    ],
)
def test_what_has_no_effect_is_a_warning(
    tmp_path: Path, row: tuple[dict[str, str | bytes], *tuple[str, ...]]
) -> None:
    files, *expected = row
    assert errors(fresh(tmp_path), files) == ([], expected)
