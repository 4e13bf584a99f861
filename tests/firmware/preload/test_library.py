"""Building the preloaded library."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.core.errors import LabError
from labkit.firmware import library as module
from labkit.firmware.library import FLAGS, LIBRARIES, SOURCES, build, build_for, library
from tests.rig import ran


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "cache" / "labkit"


@pytest.mark.sampled
@pytest.mark.usefixtures("preloaded")
def test_it_is_built_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = library()
    assert path.parent == cache
    assert platform.machine() in path.name
    assert [each.name for each in cache.iterdir()] == [path.name]
    monkeypatch.setenv("CC", "/no/compiler")
    assert library() == path


def test_without_a_compiler_one_sentence_says_what_to_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler -m64")
    with pytest.raises(LabError, match=r"there is no C compiler '/no/such/compiler'.*apt install gcc"):
        library()
    monkeypatch.setenv("CC", "cc 'open")
    with pytest.raises(LabError, match="variable CC is no command"):
        library()
    assert not cache.exists()


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(
        "#!/bin/sh\necho 'warning: this' >&2\necho 'lab.c:3: fatal error: no stdio.h' >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(LabError, match=r"cannot build the library .*: lab.c:3: fatal error: no stdio.h"):
        library()
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("preloaded")
def test_a_cache_that_cannot_be_written_is_named(cache: Path) -> None:
    cache.parent.write_text("a file")
    with pytest.raises(LabError, match=f"cannot keep the library .* in {cache}: .*XDG_CACHE_HOME"):
        library()


@pytest.mark.sampled
@pytest.mark.usefixtures("preloaded")
def test_two_processes_may_build_at_the_same_time(cache: Path) -> None:
    command = [sys.executable, "-c", "from labkit.firmware.library import library; print(library())"]
    builders = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (Path(each.communicate()[0].strip()) for each in builders)
    assert first == second
    assert [each.name for each in cache.iterdir()] == [first.name]


@pytest.fixture
def installed(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the sources of an installation of its own, on a system with glibc 2.36 and without a compiler."""
    sources = tmp_path / "preload"
    shutil.copytree(SOURCES, sources)
    monkeypatch.setattr(module, "SOURCES", sources)
    monkeypatch.setattr(os, "confstr", lambda name: "glibc 2.36")
    monkeypatch.setenv("CC", "/no/compiler")
    return sources


@pytest.mark.parametrize("version", ["2.9", "2.36"])
def test_one_that_the_installation_has_is_taken(installed: Path, cache: Path, version: str) -> None:
    wanted = installed / f"firmware-{platform.machine()}-glibc-{version}-{module._digest()}.so"
    wanted.write_bytes(b"built elsewhere")
    assert library() == wanted
    (installed / "lab.c").write_text("changed")
    with pytest.raises(LabError, match="no C compiler"):
        library()
    assert not cache.exists()


@pytest.mark.parametrize("name", ["firmware-{}-glibc-2.37-{}.so", "firmware-other-glibc-2.9-{1}.so"])
def test_one_of_another_machine_or_a_newer_c_library_is_not_taken(installed: Path, name: str) -> None:
    (installed / name.format(platform.machine(), module._digest())).write_bytes(b"built elsewhere")
    with pytest.raises(LabError, match="no C compiler"):
        library()


@pytest.mark.sampled
@pytest.mark.usefixtures("preloaded")
def test_one_for_a_wheel_says_what_it_needs(cache: Path, tmp_path: Path) -> None:
    machine = platform.machine()
    first, second = (build_for(machine, tmp_path) for _ in range(2))
    assert first == second
    assert [each.name for each in tmp_path.glob("*.so")] == [first.name]
    needs = re.fullmatch(rf"firmware-{machine}-glibc-2\.(\d+)-{module._digest()}\.so", first.name)
    assert needs is not None
    assert f"GLIBC_2.{needs[1]}\0".encode() in first.read_bytes()
    assert f"GLIBC_2.{int(needs[1]) + 1}\0".encode() not in first.read_bytes()
    loaded = subprocess.run(
        ["true"], check=False, env={**os.environ, "LD_PRELOAD": str(first)}, capture_output=True
    )
    assert (loaded.returncode, loaded.stderr) == (0, b"")
    assert not cache.exists()


def test_a_machine_without_a_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no C compiler 'vax-linux-gnu-gcc', which builds the library for vax"):
        build_for("vax", tmp_path)


def test_other_systems_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(
        LabError, match=r"^firmware: programs on lab time need Linux; all else of labkit works here, too$"
    ):
        library()


def test_another_c_library_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def confstr(name: str) -> str:
        raise ValueError(f"unrecognized configuration name: {name}")

    monkeypatch.setattr(os, "confstr", confstr)
    with pytest.raises(LabError, match=r"^firmware: programs on lab time need Linux with the GNU C library"):
        library()


@pytest.mark.usefixtures("preloaded")
def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    build(tmp_path / "library.so", options=("-Wall", "-Wextra", "-Werror", "-fsyntax-only"))


@pytest.mark.usefixtures("preloaded")
def test_it_exports_nothing_but_what_it_replaces() -> None:
    nm = shutil.which("nm")
    assert nm
    listed = ran(nm, "-D", "--defined-only", library(), check=True).stdout
    names = {each.split()[-1] for each in listed.splitlines()}
    assert {
        "poll",
        "read",
        "clock_gettime",
        "pthread_cond_timedwait",
        "timerfd_settime",
        "getaddrinfo",
    } <= names
    assert not [each for each in names if each.startswith(("lab_", "real_"))]


def test_sources_are_short_and_of_the_package() -> None:
    assert os.fspath(SOURCES).endswith("labkit/firmware/preload")
    for each in sorted(SOURCES.glob("*.[ch]")):
        lines = each.read_text().splitlines()
        assert len(lines) < 400, each.name
        assert max(map(len, lines)) <= 120, each.name
    assert FLAGS[0] == "-std=c11"
    assert LIBRARIES
