"""labkit's own notebooks and example solutions are found from anywhere, in a checkout and installed."""

from pathlib import Path

import pytest

from labkit import Lab, SettingsError
from labkit.settings import load, notebooks

EXAMPLE = Path("notebooks/solutions/metrics")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_solution_of_the_examples_is_there_from_any_folder() -> None:
    with Lab(seed=1) as lab:
        assert lab.solution("acme", path=EXAMPLE).get("/metrics").json()["logs"] == []


def test_a_lab_yaml_may_name_one_from_any_folder(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(f"solutions: [{{id: acme, path: {EXAMPLE}}}]\n", encoding="utf-8")
    [folder] = load(file).solutions[0].path
    assert (folder / "endpoints" / "metrics.lua").is_file()


def test_what_stands_beside_is_meant_first(tmp_path: Path) -> None:
    (tmp_path / EXAMPLE).mkdir(parents=True)
    assert notebooks.resolve(EXAMPLE, tmp_path) == tmp_path / EXAMPLE


@pytest.mark.parametrize(
    "name", ["solutions/metrics", "/notebooks/solutions/metrics", "../notebooks/lab.yaml"]
)
def test_nothing_else_is_found_elsewhere(tmp_path: Path, name: str) -> None:
    assert notebooks.resolve(Path(name), tmp_path) == tmp_path / name


def test_an_installed_labkit_has_them_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "labkit"
    for each in (package, package.parent):
        (each / "notebooks").mkdir(parents=True)
    monkeypatch.setattr(notebooks, "PACKAGE", package)
    assert notebooks.notebooks_folder() == package / "notebooks"
    (package / "notebooks").rmdir()
    assert notebooks.notebooks_folder() == package.parent / "notebooks"
    (package.parent / "notebooks").rmdir()
    with pytest.raises(SettingsError, match="came without its notebooks"):
        notebooks.notebooks_folder()
