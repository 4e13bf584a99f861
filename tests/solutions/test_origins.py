"""Replacement of handlers without replace=True: by the same text, or a function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.core.errors import SettingsError
from labkit.solutions.folders.scripts import ScriptSource
from labkit.solutions.origins import Origin
from tests.cases import cases


def first() -> None:
    pass


def made(value: int) -> Callable[[], int]:
    def handler() -> int:
        return value

    return handler


class Handler:
    def __call__(self) -> None:
        pass

    def method(self) -> None:
        pass


def script(source: str, place: str = "a cell") -> Origin:
    return Origin(script=ScriptSource("f", 1, source), place=place)


def function(function: Callable[..., Any]) -> Origin:
    return Origin(function=function)


@cases(
    ("present", "given", "same"),
    [
        (script("a"), script("a", "services/x.lua:1"), True),
        (script("a"), script("b"), False),
        (script("a"), function(first), False),
        (function(first), function(first), True),
        (function(made(1)), function(made(2)), True),
        (function(first), function(made(1)), False),
        (function(partial(first)), function(first), True),
        (function(Handler()), function(Handler()), True),
        (function(Handler().method), function(Handler().method), True),
        (function(Handler().method), function(Handler()), False),
        (function(lambda: 1), function(lambda: 1), True),
        (function(lambda: 1), function(lambda: 2), False),
        (function(print), function(print), True),
        (function(print), function(len), False),
    ],
)
def test_equal_origins(present: Origin, given: Origin, same: bool) -> None:
    assert given.is_same(present) is present.is_same(given) is same


def folder(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_error_has_the_place_of_the_existing_handler(tmp_path: Path) -> None:
    files = {"endpoints/a.lua": "--#ENDPOINT GET /a\nreturn 1", "services/user_account.lua": "return 1"}
    with Lab(seed=1) as lab:
        solution = lab.solution("acme", path=folder(tmp_path, files))
        for add, what, place in (
            (partial(solution.route, "GET", "/a"), "GET /a", "endpoints/a.lua:1"),
            (partial(solution.on, "user", "account"), "user account", "services/user_account.lua:1"),
        ):
            with pytest.raises(SettingsError) as error:
                add(first)
            assert str(error.value) == (
                f"{what}: {place} handles it already; pass replace=True to put the function first in its place"
            )
            add(first, replace=True)
            with pytest.raises(
                SettingsError, match=r"the function first handles it already; .* a script of a cell"
            ):
                add(lua="return 2")
            decorate = add(replace=True)
            assert decorate(made(1))() == 1
            add(made(2))
        assert solution.get("/a").text == "2"


def test_after_a_reload_a_cells_replacements_remain_and_new_handlers_are_conflicts(tmp_path: Path) -> None:
    files = {"endpoints/a.lua": "--#ENDPOINT GET /a\nreturn 'folder'"}
    with Lab(seed=1) as lab:
        solution = lab.solution("acme", path=folder(tmp_path, files))
        solution.route("GET", "/a", made(1), replace=True)
        solution.route("GET", "/a", made(2))  # the same again: it continues to replace
        solution.route("GET", "/b", made(3))
        assert [solution.reload().get(path).text for path in ("/a", "/b")] == ["2", "3"]
        folder(tmp_path, {"endpoints/b.lua": "--#ENDPOINT GET /b\nreturn 'folder'"})
        with pytest.raises(
            SettingsError, match=r"GET /b: endpoints/b\.lua:1 handles it already; pass replace=True"
        ):
            solution.reload()
        assert [solution.get(path).text for path in ("/a", "/b")] == ["2", "3"]
        solution.route("GET", "/b", made(4), replace=True)
        assert solution.reload().get("/b").text == "4"
