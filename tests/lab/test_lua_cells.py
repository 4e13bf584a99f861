"""Cells in Lua: `%%lua` in a shell of IPython."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from labkit import LabWarning
from tests.lab.conftest import Serve

Run = Callable[[str], str]
ANSI = re.compile(r"\x1b\[[0-9;]*m")

pytestmark = pytest.mark.xdist_group("served")


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_cell(
        "from labkit import Lab\nlab = Lab(seed=1)\np = lab.product('p', resources={'t': 'number'})"
    )
    shell.run_cell("acme = lab.solution('acme', products='p')")
    yield shell
    shell.run_cell("for each in [v for v in globals().values() if isinstance(v, Lab)]: each.close()")
    shell.displayhook.flush()
    if shell.history_manager is not None:
        shell.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def shown(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a cell, and returns its prints, its error and its value as text."""

    def run(cell: str) -> str:
        capsys.readouterr()
        shell.run_cell(cell)
        out, err = capsys.readouterr()
        return ANSI.sub("", out + err).strip()

    return run


def test_a_cell_shows_what_it_prints_and_returns(shell: InteractiveShell, shown: Run) -> None:
    assert shown("%%lua acme\nprint('at', 1)\nreturn {n = 2}") == "at\t1\nOut[0]: {'n': 2}"
    assert shown("%%lua acme\nlocal x = 1") == ""


def test_a_cell_sets_handlers_routes_and_modules_and_replaces_them(shown: Run) -> None:
    for step in (1, 2):
        assert shown(f"%%lua acme module counters\nreturn {{step = {step}}}") == ""
        lua = f"local by = require('counters').step -- {step}\n"
        lua += "Keystore.set{key = 'n', value = 'by ' .. by .. data.value[2]}"
        assert shown(f"%%lua acme device datapoint\n{lua}") == ""
        assert shown(f"%%lua acme GET /n/{{id}}\nreturn {{{step}, request.parameters.id}}") == ""
        shown("p.device('d').activate().write(t=7)\nlab.settle()")
        assert shown("print(acme.Keystore.get(key='n'), acme.get('/n/x').json())") == (
            f"{{'value': 'by {step}7'}} [{step}, 'x']"
        )


def test_a_mistake_names_the_line_of_the_cell_alone(shown: Run) -> None:
    assert shown("%%lua acme\nprint('before')\nerror('no')") == "before\nLabError: cell:3: no"
    assert shown("%%lua acme\n\nx = = 1") == "SettingsError: cell:3: unexpected symbol near '='"
    assert shown("%%lua acme GET /a\nx = = 1") == "SettingsError: GET /a:2: unexpected symbol near '='"
    shown("%%lua acme GET /a\nlocal a\nreturn a.b")
    assert "GET /a:3: attempt to index local 'a'" in shown("print(acme.get('/a').text)")


def test_a_warning_names_the_cell_alone(shown: Run) -> None:
    with pytest.warns(LabWarning, match="Keystore has no operation 'gte'; did you mean get") as told:
        shown("%%lua acme\nKeystore.gte{key = 'n'}")
    assert [(each.filename, each.lineno) for each in told] == [("cell", 1)]


@pytest.mark.parametrize(
    "line",
    [
        "",
        " acme a b c",
        " acme device",
        " acme --lab",
        " acme -x",
        " acme GET /a b c",
        " acme GET /a POST",
        " acme modul a",
    ],
)
def test_wrong_arguments_are_a_line_with_the_forms(shown: Run, line: str) -> None:
    told = shown(f"%%lua{line}\nreturn 1")
    assert told.startswith("ArgumentError: %%lua: expected %%lua SOLUTION, %%lua SOLUTION SERVICE EVENT, ")
    assert told.endswith(f"not {line.strip()!r}")
    assert "\n" not in told


def test_a_header_of_a_file_is_refused_in_a_cell(shown: Run) -> None:
    told = shown("%%lua acme\n--#ENDPOINT GET /z\nreturn 1")
    assert told.startswith(
        "ArgumentError: %%lua: '--#ENDPOINT GET /z' counts in files alone; expected its words after "
    )


def test_of_two_labs_it_is_the_one_that_has_the_solution(shown: Run) -> None:
    shown("other = Lab(seed=2)\nother.solution('lights')\nsame = other")
    assert shown("%%lua lights\nprint(1)") == "1"
    assert shown("%%lua acme --lab other\nprint(1)") == (
        "UnknownError: %%lua: no solution 'acme', there are: lights"
    )
    shown("other.solution('acme').Keystore.set(key='n', value='other')")
    told = "LabError: %%lua: the labs lab and other have a solution 'acme': add --lab other"
    assert shown("%%lua acme\nprint(1)") == told
    assert shown("%%lua acme --lab other\nprint(Keystore.get{key = 'n'}.value)") == "other"
    assert "no variable with an open lab 'x', there are: lab, other" in shown("%%lua acme --lab x\nprint(1)")
    shown("other.close()")
    assert shown("%%lua acme\nprint(1)") == "1"


def completed(shell: InteractiveShell, text: str) -> list[str]:
    line = text.split("\n")[-1]
    completer = shell.Completer
    results = completer._complete(cursor_line=text.count("\n"), cursor_pos=len(line), full_text=text)
    found = (each for one in results.values() for each in one["completions"])
    return [getattr(each, "text", "") or getattr(each, "name", "") for each in found]  # jedi's have a name


def test_services_operations_and_arguments_are_completed(shell: InteractiveShell) -> None:
    assert completed(shell, "%%lua ac") == ["acme"]
    assert completed(shell, "%%lua acme --lab l") == ["lab"]
    assert completed(shell, "%%lua acme m") == ["module"]
    assert "Keystore" in completed(shell, "%%lua acme\nlocal a = Key")
    assert completed(shell, "%%lua acme GET /x\nreturn Keystore.li") == ["Keystore.list"]
    assert completed(shell, "%%lua acme\nKeystore.set({key = 'a', va") == ["value = "]
    assert completed(shell, "%%lua acme\nKeystore.set{k") == ["key = "]
    assert completed(shell, "%%lua acme GET /x\nreturn request.me") == ["request.method"]
    assert completed(shell, "%%lua acme device2 data_in\nprint(event.pay") == ["event.payload"]
    assert "event.timer_id" in completed(shell, "%%lua acme timer timer\nprint(event.")
    assert completed(shell, "%%lua acme device datapoint\nprint(da") == ["data"]
    assert completed(shell, "%%lua acme GET /x\nreturn request.parameters.") == []
    assert "Keystore" not in completed(shell, "x = 1\nlocal a = Key")


def test_it_is_there_without_a_lab_and_works_over_http(
    serve: Serve, shown: Run, shell: InteractiveShell
) -> None:
    shown("lab.close()")
    del shell.magics_manager.magics["cell"]["lua"]
    assert "`%%lua` not found" in shown("%%lua far\nprint(1)")
    shell.run_line_magic("load_ext", "labkit")
    assert shown("%%lua far\nprint(1)") == (
        "LabError: %%lua: no variable has an open lab: make one in a cell, as in lab = Lab(seed=7)"
    )
    control = serve("--control", "--seed", "7")["control"]
    shown(f"far = Lab.connect({control['url']!r}, {control['token']!r})\nfar.solution('far')")
    assert shown("%%lua far\nprint(1)\nreturn Keystore.list{}.keys") == "1\nOut[0]: []"
    assert (
        shown("%%lua far GET /x\nlocal t = {\n1")
        == "SettingsError: GET /x:3: '}' expected (to close '{' at line 2) near '<eof>'"
    )
    shell.run_cell("far.close()")
    assert "%%lua acme device datapoint" in shell.object_inspect("lua")["docstring"]
