"""Cells in Lua of a notebook: the magic `%%lua`, and what such a cell completes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labkit.control.solutions import SolutionInfo
from labkit.core.errors import ArgumentError, LabError, LabkitError, UnknownError, unknown
from labkit.core.handle import cells_shell
from labkit.lab.solution import JSON, Solution
from labkit.lab.states import LabStates

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext
    from IPython.core.interactiveshell import InteractiveShell

FORMS = (
    "%%lua SOLUTION, %%lua SOLUTION SERVICE EVENT, %%lua SOLUTION METHOD /PATH [TYPE], or %%lua SOLUTION module NAME, "
    "each with --lab NAME if several labs have the solution"
)
NEAR_MODULE = ("Module", "modul", "modules", "MODULE")  # no service has such a name
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "WEBSOCKET")
LONG = 4000  # characters before the cursor that completion reads
HEAD = re.compile(r"%%lua[ \t]+(.*)")
HEADER = re.compile(
    r"\s*(--\s*#\s*(?:ENDPOINT|EVENT|WEBSOCKET)\b.*)", re.IGNORECASE
)  # of a script in a folder
ARGUMENT = re.compile(r"(\w+)\.(\w+)\s*\(?\s*\{(?:[^{}]*,)?\s*(\w*)$")
OPERATION = re.compile(r"(?<![\w.:])(\w+)\.(\w*)$")
NAME = re.compile(r"(?<![\w.:])\w+$")


def load(shell: InteractiveShell) -> None:
    """Define `%%lua` in a shell of IPython, and complete its cells; again it changes nothing."""
    from IPython.core.completer import context_matcher
    from IPython.core.magic import no_var_expand

    magics = shell.magics_manager.magics["cell"]
    if getattr(magics.get("lua"), "_of_labkit", False):
        return

    def lua(line: str, cell: str) -> object:
        return _run(shell, line, cell)

    def completions(context: CompletionContext) -> dict[str, Any]:
        return _completions(shell, context)

    lua.__doc__ = HELP
    lua._of_labkit = True  # type: ignore[attr-defined]
    register: Any = shell.register_magic_function  # which is typed for a use as a decorator
    register(no_var_expand(lua), "cell", "lua")
    matcher = context_matcher(priority=1000, identifier="labkit.lua")  # before those of Python
    shell.Completer.custom_matchers.append(matcher(completions))


def load_where_cells_run() -> None:
    """Define `%%lua` where this process is the kernel of a notebook, unless its cells have a magic of that name."""
    shell = cells_shell()
    if shell is not None and "lua" not in shell.magics_manager.magics["cell"]:
        load(shell)


HELP = """Run a cell in Lua: `%%lua acme` in a solution's environment, at once; or set a part of the solution.

%%lua acme                    run the cell, and show what it prints and returns
%%lua acme device datapoint   handle an event of a service
%%lua acme GET /metrics       answer a route; a content type of request bodies may follow
%%lua acme module counters    set the module that require("counters") returns

Run again, a cell replaces what it has set. With `--lab NAME` it is the solution of the lab in that variable. A mistake
names the line of the cell, whose first line is that of the magic.
"""


def _run(shell: InteractiveShell, line: str, cell: str) -> object:
    solution, given = _addressed(shell, line)
    text = "\n" + cell.rstrip("\n")  # so that lines are counted from that of the magic
    match given:
        case []:
            if header := HEADER.match(text):
                raise ArgumentError(
                    f"%%lua: {header[1][:200]!r} counts in files alone; expected its words after %%lua {solution.id}, "
                    f"as in %%lua {solution.id} GET /metrics"
                )
            return solution.run(text, "cell")
        case ["module", name]:
            solution.module(name, text)
        case [method, path, *kind] if _is_route(method, path, kind):
            solution.route(method, path, lua=text, content_type=kind[0] if kind else JSON, replace=True)
        case [service, event] if service not in NEAR_MODULE and service not in METHODS:
            solution.on(service, event, lua=text, replace=True)
        case _:
            raise _misfit(line)
    return None


def _is_route(method: str, path: str, kind: list[str]) -> bool:
    """Return whether the words after a solution name a route, and perhaps a content type."""
    return len(kind) < 2 and all("/" in each for each in kind) and (path.startswith("/") or method in METHODS)


def _addressed(shell: InteractiveShell, line: str) -> tuple[Solution, list[str]]:
    """Return the solution that a magic's line names, and the words after it."""
    words, of = line.split(), None
    if "--lab" in words:
        at = words.index("--lab")
        of = words[at + 1] if at + 1 < len(words) else ""
        del words[at : at + 2]
    if not words or of == "" or any(each.startswith("-") for each in words):
        raise _misfit(line)
    labs = dict(_labs(shell))
    if not labs:
        raise LabError("%%lua: no variable has an open lab: make one in a cell, as in lab = Lab(seed=7)")
    if of is not None and of not in labs:
        raise UnknownError(f"%%lua: {unknown('variable with an open lab', of, labs)}")
    chosen = labs if of is None else {of: labs[of]}
    known = {name: _solutions(lab) for name, lab in chosen.items()}
    having = [name for name, ids in known.items() if words[0] in ids]
    if not having:
        there = dict.fromkeys(id for ids in known.values() for id in ids)
        raise UnknownError(f"%%lua: {unknown('solution', words[0], there)}")
    if len(having) > 1:
        raise LabError(
            f"%%lua: the labs {' and '.join(having)} have a solution {words[0]!r}: add --lab {having[-1]}"
        )
    return Solution(labs[having[0]]._runtime, known[having[0]][words[0]]), words[1:]


def _misfit(line: str) -> ArgumentError:
    return ArgumentError(f"%%lua: expected {FORMS}, not {line[:200]!r}")


def _labs(shell: InteractiveShell) -> Iterator[tuple[str, LabStates]]:
    """Yield the open labs in variables of cells, each by the first of its names."""
    seen: list[LabStates] = []
    for name, value in list(shell.user_ns.items()):
        if isinstance(value, LabStates) and not (name.startswith("_") or value.closed or value in seen):
            seen.append(value)
            yield name, value


def _solutions(lab: LabStates) -> dict[str, SolutionInfo]:
    return {each.id: each for each in lab._runtime.run(lab._runtime.control.solutions.all)}


# --- completion ---------------------------------------------------------------------------------------------


def _completions(shell: InteractiveShell, context: CompletionContext) -> dict[str, Any]:
    """Return what completes the text before the cursor in a cell of this magic; nothing in another cell."""
    from IPython.core.completer import SimpleCompletion

    lines = context.full_text.split("\n")
    before = "\n".join([*lines[: context.cursor_line], context.text_until_cursor]).lstrip("\n")
    found: list[SimpleCompletion] = []
    fragment = ""
    if (head := HEAD.match(before)) is not None:
        try:
            fragment, names = _names(shell, head[1], before)
        except LabkitError:  # the cell says so when it runs
            names = []
        found = [SimpleCompletion(each) for each in names if each.startswith(fragment)]
    return {"completions": found, "suppress": bool(found), "matched_fragment": fragment}


def _names(shell: InteractiveShell, line: str, before: str) -> tuple[str, Iterable[str]]:
    """Return the text that may be completed, and the names that may stand there. line: of the magic."""
    if "\n" not in before:
        *words, fragment = re.split(r"[ \t]+", line)
        labs = dict(_labs(shell))
        if words[-1:] == ["--lab"]:
            return fragment, labs
        if words:
            return fragment, () if len(words) > 1 else ("module", *METHODS)
        return fragment, dict.fromkeys(id for lab in labs.values() for id in _solutions(lab))
    solution, given = _addressed(shell, line)
    services = solution._catalogue.services()
    tables: Mapping[str, Iterable[str]] = {}
    if len(given) > 1 and given[0] != "module":
        tables = solution._runtime.run(solution._control.tables, *given[:2])
    before = before[-LONG:]
    call = ARGUMENT.search(before)
    if call is not None and (operation := services.get(call[1], {}).get(call[2])) is not None:
        return call[3], [f"{each.name} = " for each in operation.parameters]
    if member := OPERATION.search(before):
        there = {**services, **tables}.get(member[1], ())
        return member[0], [f"{member[1]}.{each}" for each in there]
    if before.endswith("."):  # fields of something else than a name, as in request.parameters.
        return "", ()
    name = NAME.search(before)
    return name[0] if name else "", [*tables, *services]
