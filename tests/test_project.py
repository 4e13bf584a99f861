"""The project: dependencies, commands, and the size of files and imports."""

import ast
import json
import os
import re
import runpy
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from labkit import __version__
from tests.rig import ran

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

HEAVY = {
    *("pandas", "numpy", "matplotlib", "httpx", "OpenSSL", "IPython", "ipywidgets"),
    *("jupyterlab", "jupyter_client", "papermill", "nbconvert", "nbformat"),
}


def constraints() -> list[Requirement]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # A make that runs this test passes flags down that would change the make that is run here.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return ran(*command, cwd=ROOT, env=inherited | environment)


# --- versions -----------------------------------------------------------------------------------------------


def test_constraints_are_exact_versions_without_addresses() -> None:
    for pin in constraints():
        [specifier] = pin.specifier
        assert (pin.url, pin.extras, specifier.operator) == (None, set(), "=="), pin
        assert "*" not in specifier.version, pin


def test_each_dependency_is_pinned_to_a_version_it_accepts() -> None:
    pinned = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in constraints()}
    declared = [*PROJECT["dependencies"], *(text for extra in EXTRAS.values() for text in extra)]
    for requirement in map(Requirement, declared):
        if requirement.name == PROJECT["name"]:  # a dependency of another extra
            assert requirement.extras <= EXTRAS.keys()
            continue
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_environment_yml_gives_a_python_that_labkit_takes() -> None:
    [version] = re.findall(r"- python=(.+)", (ROOT / "environment.yml").read_text())
    assert version in SpecifierSet(PROJECT["requires-python"])


def test_uv_has_the_settings_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME"):  # the user's own files of pip
        monkeypatch.setenv(name, str(tmp_path))
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://me:secret@a.test/simple\nextra-index-url = https://b.test\n c.test\n"
        f"find-links = {tmp_path} {tmp_path}/none\n[install]\ncert = ca.pem\n[download]\npre = true\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("PIP_PROXY", "http://d.test")
    set_up = runpy.run_path(str(ROOT / ".ci/set-up"))
    settings = set_up["of_pip"]()
    assert settings.keys() <= set_up["SETTINGS"].keys()
    given = set_up["for_uv"](settings)
    assert {name: given[name] for name in given.keys() - os.environ.keys() if name != "SSL_CERT_FILE"} == {
        "UV_DEFAULT_INDEX": "https://me:secret@a.test/simple",
        "UV_INDEX": "https://b.test c.test",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": str(tmp_path),
        "UV_CONSTRAINT": str(ROOT / "constraints.txt"),
        "ALL_PROXY": "http://d.test",
    }
    monkeypatch.setenv("PIP_CLIENT_CERT", "client.pem")
    assert not set_up["of_pip"]().keys() <= set_up["SETTINGS"].keys()  # pip does the work


def declared(*extras: str) -> set[str]:
    """Return labkit's declared dependencies, with these extras and the ones that they include."""
    found = set()
    for text in [*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])]:
        requirement = Requirement(text)
        if requirement.name == PROJECT["name"]:
            found |= declared(*requirement.extras)
        else:
            found.add(canonicalize_name(requirement.name))
    return found


# Folders and files that may import libraries of an extra, since a check of its installation precedes them.
IMPORTERS = {
    "lab": (
        *("reporting", "widgets", "bench/chart.py", "conformance/models"),
        *("fleet/cluster.py", "fleet/cluster_client.py", "fleet/workers.py"),
        *("hunt/workers", "hunt/comparing", "conformance/device/restart/checks_model.py", "lab/lua_cells.py"),
    ),
    "tables": ("lab/frame.py",),
    "reload": ("reload/watching.py",),
    "test": ("testing",),  # pytest imports it
    "book": ("dev/architecture.py", "dev/book.py", "dev/docstrings.py", "dev/navigation.py"),
    "bench": ("bench/locust_load.py", "bench/server.py", "bench/simulated.py", "bench/fleet_load.py"),
}


def test_each_library_that_labkit_imports_is_declared() -> None:
    """Elsewhere, libraries of an extra are imported within `needs`, for types alone, or in a `try`."""
    undeclared, owners = set(), packages_distributions()
    for path in python_files("labkit"):
        extras = [
            extra
            for extra, where in IMPORTERS.items()
            if any(path.is_relative_to(ROOT / "labkit" / each) for each in where)
        ]
        undeclared |= {
            f"{path.relative_to(ROOT)}:{line} imports {module}"
            for line, module, more in imports(ast.parse(path.read_text()))
            if module not in sys.stdlib_module_names | {"labkit"}
            and not {*map(canonicalize_name, owners.get(module, [module]))} & declared(*extras, *more)
        }
    assert not undeclared


def imports(node: ast.AST, extras: tuple[str, ...] = ()) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield the line and the module of each import below a node, and the extras that are allowed there."""
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name.partition(".")[0], extras) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.lineno, node.module.partition(".")[0], extras
    for child in ast.iter_child_nodes(node):
        yield from imports(child, (*extras, *allowed(node)))


def allowed(node: ast.AST) -> list[str]:
    match node:
        case ast.With(items=[ast.withitem(context_expr=ast.Call(ast.Name("needs"), [ast.Constant(extra)]))]):
            return [str(extra)]
        case (
            ast.If(test=ast.Name("TYPE_CHECKING"))
            | ast.Try(handlers=[ast.ExceptHandler(type=ast.Name("ModuleNotFoundError"))])
        ):
            return ["lab"]
    return []


def test_the_changelog_and_the_citation_name_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    released = f"## [{__version__}] - {citation['date-released']}"
    assert released in (ROOT / "CHANGELOG.md").read_text().splitlines()


def test_hooks_before_a_commit_run_the_projects_own_tools() -> None:
    assert "pre-commit" in {Requirement(text).name for text in EXTRAS["lint"]}
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    [local] = hooks["repos"]
    assert local["repo"] == "local"
    assert {each["language"] for each in local["hooks"]} == {"system"}
    assert {each["entry"] for each in local["hooks"]} == {
        ".venv/bin/ruff format",
        ".venv/bin/ruff check",
        ".venv/bin/mypy",
    }


# --- commands -----------------------------------------------------------------------------------------------


def test_make_lists_every_command() -> None:
    listed = run("make")
    assert listed.returncode == 0
    assert re.findall(r"^  make (\w+) +\S", listed.stdout, re.MULTILINE) == [
        *("help", "report", "test", "lab", "notebooks", "book", "lint", "bench", "clean")
    ]


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """A stub of a Python without venv: it runs this Python, with ensurepip hidden."""
    script = tmp_path / "python-without-venv"
    code = 'import sys; sys.modules["ensurepip"] = None; sys.executable = sys.argv[0]; exec(sys.argv[1])'
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c \'{code}\' "$2"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def find_python(*names: str | Path) -> subprocess.CompletedProcess[str]:
    return run("sh", ".ci/find-python", *names)


def test_a_python_without_venv_is_an_error_that_names_the_package(interpreter: Path) -> None:
    found = find_python(interpreter)
    assert (found.returncode, found.stdout) == (1, "")
    [line] = found.stderr.splitlines()
    assert "install the package python3-venv" in line


def test_no_python_is_an_error_that_names_the_versions() -> None:
    found = find_python("no-such-python", "false")
    assert (found.returncode, found.stdout) == (1, "")
    [line] = found.stderr.splitlines()
    assert "needs Python 3.11 or later" in line


# --- code ---------------------------------------------------------------------------------------------------


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in python_files("labkit", "tests")}
    assert not {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > 700}


def test_no_docstring_begins_with_a_question_word() -> None:
    """A first line says what a thing is or does: "What a fork keeps" is a riddle."""
    trees = {path: ast.walk(ast.parse(path.read_text())) for path in python_files("labkit", "tests")}
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [
        (path, ast.get_docstring(node) or "")
        for path, tree in trees.items()
        for node in tree
        if isinstance(node, kinds)
    ]
    assert [(path, text) for path, text in texts if re.match(r"(What|How|Where|Why)\b", text)] == []


def test_import_is_light() -> None:
    code = (
        "import json, sys, time; start = time.process_time(); import labkit; "
        "print(json.dumps([time.process_time() - start, sorted(sys.modules)]))"
    )
    imported = run(sys.executable, "-c", code)
    assert imported.returncode == 0, imported.stderr
    seconds, modules = json.loads(imported.stdout)
    assert "labkit" in modules
    assert not HEAVY & set(modules)
    assert seconds < 0.5


def test_a_first_write_loads_no_library_that_it_does_not_need() -> None:
    code = (
        "import sys; from labkit import Lab; lab = Lab(seed=1)\n"
        "lab.product('p', resources={'a': 'number'}).device('d').activate().write(a=1); lab.close()\n"
        "print(*sys.modules)"
    )
    loaded = run(sys.executable, "-c", code)
    assert loaded.returncode == 0, loaded.stderr
    assert "httpx" in (modules := set(loaded.stdout.split()))
    absent = "numpy fakeredis redis dask pandas jsonschema lupa IPython oauthlib rich pygments click"
    assert modules & {*absent.split()} == set()
