"""Scaffolds: the files that they write pass lint, their own tests and their own checks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guard import PATIENCE

CHECKOUT = Path(__file__).parents[2]
COPIED = ("labkit", "tests", "notebooks", "pyproject.toml", "conftest.py")
CACHE = CHECKOUT / ".mypy_cache"
NEW = (
    ("service", "SmartMeter"),
    ("part", "device/firmware"),
    ("part", "radio5/frequencies2"),
    ("fault", "power_dip"),
    ("host", "weather_station"),
)


pytestmark = [pytest.mark.sampled, pytest.mark.xdist_group("scaffolds")]  # one copy for all tests


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, with a new scaffold of each kind."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in COPIED:
        if (source := CHECKOUT / name).is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    for kind, name in NEW:
        _run(folder, "labkit.dev", "new", kind, name)
    return folder


def _run(folder: Path, module: str, *arguments: str | Path, status: int = 0) -> str:
    """Run a Python module in a folder, whose packages take precedence over installed ones."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def _written(folder: Path) -> dict[Path, str]:
    files = [path for each in COPIED for path in (folder / each, *(folder / each).rglob("*"))]
    kinds = (".py", ".toml", ".md")
    return {path: path.read_text() for path in files if path.is_file() and path.suffix in kinds}


def test_each_touches_its_registry_and_else_only_files_of_its_own(copy: Path) -> None:
    written = {path.relative_to(copy): text for path, text in _written(copy).items()}
    before = {path.relative_to(CHECKOUT): text for path, text in _written(CHECKOUT).items()}
    added = {
        str(path): [line.strip() for line in text.splitlines() if line not in before[path].splitlines()]
        for path, text in written.items()
        if path in before and text != before[path]
    }
    assert added.keys() == {
        "labkit/services/registry.py",
        "labkit/providers/registry.py",
        "labkit/fleet/fault_kinds.py",
    }
    assert added["labkit/services/registry.py"] == [
        "from labkit.services.smart_meter.service import SmartMeter",
        "SmartMeter,",
    ]
    own = ("smart_meter", "firmware", "radio", "power_dip", "weather_station")
    new = [str(path) for path in written.keys() - before.keys()]
    assert [path for path in new if not any(name in path for name in own)] == []


def test_style_and_types(copy: Path) -> None:
    _run(copy, "ruff", "format", "--check", ".")
    _run(copy, "ruff", "check", ".")
    if not CACHE.is_dir():
        pytest.skip("make lint has not run: without its cache mypy takes two minutes")
    cache = copy.parent / "mypy_cache"
    shutil.copytree(CACHE, cache)
    _run(copy, "mypy", "--cache-dir", cache)


def test_their_own_tests(copy: Path) -> None:
    tests = (
        "tests/services/test_smart_meter.py",
        "tests/fleet/test_power_dip.py",
        "tests/providers/test_weather_station.py",
    )
    assert "9 passed" in _run(copy, "pytest", "-q", "-p", "no:cacheprovider", *tests)


def test_imports_and_lists(copy: Path) -> None:
    pytest.importorskip("importlinter", reason="make lint has not run")
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", lint], cwd=copy, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert " 0 broken." in done.stdout, done.stdout + done.stderr
    tests = (
        "tests/test_public_names.py",
        "tests/conformance/test_listing.py",
        "tests/lab/test_stored_files.py",
        "tests/reference/test_services.py",
    )
    own = ("-k", "SmartMeter or not (meaning or examples)")
    assert " passed" in _run(copy, "pytest", "-q", "-p", "no:cacheprovider", *tests, *own)


def test_their_checks_pass_and_notice_their_mutants(copy: Path) -> None:
    tests = ("tests/conformance/test_catalogue.py", "tests/conformance/test_mutants.py")
    wanted = "catalogue or (noticed and (values or firmware or frequencies))"
    said = _run(copy, "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", wanted)
    assert " passed" in said


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("service", "smart", "'smart': expected a name in CamelCase, such as SmartMeter"),
        ("service", "SmartMeter", "labkit/conformance/smart_meter/values/checks.py exists already"),
        ("service", "Keystore", "labkit/services/keystore/service.py exists already"),
        ("service", "Clock", "labkit/labtime/clock.py has a class Clock already; expected another name"),
        ("part", "firmware", "'firmware': expected AREA/NAME, such as device/firmware"),
        ("part", "device/../x", "'../x': expected a name in lower_case, such as smart_meter"),
        ("fault", "Dip", "'Dip': expected a name in lower_case, such as smart_meter"),
        ("fault", "import", "'import': expected a name in lower_case, such as smart_meter"),
        ("fault", "delay", "labkit/fleet/fault_kinds.py has '\"delay\":' already"),
    ],
)
def test_a_scaffold_that_cannot_be_written_changes_nothing(
    copy: Path, kind: str, name: str, message: str
) -> None:
    before = _written(copy)
    assert _run(copy, "labkit.dev", "new", kind, name, status=1) == f"labkit: {message}\n"
    assert _written(copy) == before
