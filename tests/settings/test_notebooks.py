"""Location of labkit's notebooks and example solutions, in a checkout and installed, from any folder."""

from pathlib import Path

import pytest

from labkit import Lab, SettingsError
from labkit.settings import load, notebooks

EXAMPLE = Path("notebooks/solutions/metrics")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_example_solution_is_found_from_any_folder(lab: Lab) -> None:
    assert lab.solution("acme", path=EXAMPLE).get("/metrics").json()["logs"] == []


def test_a_lab_yaml_may_refer_to_an_example_from_any_folder(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(f"solutions: [{{id: acme, path: {EXAMPLE}}}]\n", encoding="utf-8")
    [folder] = load(file).solutions[0].path
    assert (folder / "endpoints" / "metrics.lua").is_file()


def test_a_folder_beside_the_file_takes_precedence(tmp_path: Path) -> None:
    (tmp_path / EXAMPLE).mkdir(parents=True)
    assert notebooks.resolve(EXAMPLE, tmp_path) == tmp_path / EXAMPLE


@pytest.mark.parametrize(
    "name", ["solutions/metrics", "/notebooks/solutions/metrics", "../notebooks/lab.yaml"]
)
def test_no_other_path_is_searched_elsewhere(tmp_path: Path, name: str) -> None:
    assert notebooks.resolve(Path(name), tmp_path) == tmp_path / name


def test_an_installed_labkit_contains_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
