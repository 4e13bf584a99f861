"""Cells that run again, folders that are edited, and logs of scripts."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, LabWarning, SettingsError, TakenError
from tests.guard import PATIENCE

RESOURCES = {"temperature": "number", "message": "string"}
ENDPOINT = '--#ENDPOINT GET /n\nprint("asked")\nreturn {n = %s}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "endpoints").mkdir()
    write(tmp_path, "1")
    return tmp_path


def write(folder: Path, value: str) -> None:
    (folder / "endpoints" / "n.lua").write_text(ENDPOINT % value)


class TestProducts:
    def test_the_same_settings_return_the_same_handle(self, lab: Lab) -> None:
        first = lab.product("t", resources=RESOURCES, auth="token")
        assert lab.product("t", resources=RESOURCES) is first
        assert lab.product("t") is first

    def test_other_settings_are_an_error_that_names_the_ways_to_change_it(self, lab: Lab) -> None:
        lab.product("t", resources=RESOURCES)
        with pytest.raises(
            TakenError, match=r"'t' is there .*auth \('token' there, 'password' here\); change"
        ) as e:
            lab.product("t", resources=RESOURCES, auth="password")
        assert "settings.change(…)" in str(e.value)
        assert "replace=True" in str(e.value)
        assert lab.product("t").settings.auth == "token"

    def test_only_the_parts_that_differ_are_shown_as_they_are_written(self, lab: Lab) -> None:
        """A resource is a word where it was given as one, and a range of identities is not expanded."""
        kept: dict[str, Any] = {"resources": {"t": "number", "m": "string"}, "identities": ["w-{001..400}"]}
        lab.product("plain", **kept)
        for other, shown in (
            ({"resources": {"t": "number", "m": "integer"}}, "resources.m ('string' there, 'integer' here);"),
            ({"resources": {"t": "number"}}, "resources.m ('string' there, none here);"),
            (
                {"resources": {"t": {"format": "number", "unit": "°C"}, "m": "string"}},
                "resources.t ('number' there, {'format': 'number', 'unit': '°C'} here);",
            ),
            ({"identities": ["w-{000..399}"]}, "identities (['w-400'] only there, ['w-000'] only here);"),
            ({"identities": ["w-{001..400}", "w-001"]}, "identities (in another order or number);"),
        ):
            with pytest.raises(TakenError, match=re.escape(f"other settings: {shown} change them")):
                lab.product("plain", **{**kept, **other})

    def test_replace_uses_only_the_new_settings_and_keeps_the_data(self, lab: Lab, folder: Path) -> None:
        other = lab.product("other", resources=RESOURCES)
        product = lab.product("t", resources=RESOURCES, self_registration=False, identities=["a"])
        device = product.device("a").activate()
        device.write(message="x")
        again = lab.product("t", resources={"message": "string"}, identities=["b"], replace=True)
        assert again is product
        assert (again.settings.self_registration, list(again.settings.resources)) == (True, ["message"])
        assert device.read("message") == {"message": "x"}
        assert list(product.devices().index) == ["a", "b"]
        assert list(other.settings.resources) == list(RESOURCES)
        assert lab.product("new", replace=True).id == "new"
        with pytest.raises(SettingsError, match="domain: cannot change"):
            lab.product("t", domain="elsewhere.example", replace=True)


class TestSolutions:
    def test_the_same_settings_return_the_same_handle(self, lab: Lab, folder: Path) -> None:
        product = lab.product("t", resources=RESOURCES)
        first = lab.solution("acme", products=[product], path=folder)
        assert lab.solution("acme", products="t", path=str(folder)) is first
        assert lab.solution("acme") is first
        with pytest.raises(
            TakenError, match=r"'acme' is there .* products \(\['t'\] there, \[\] here\); pass replace"
        ):
            lab.solution("acme", path=folder)

    def test_replace_uses_the_new_folder_and_keeps_data_of_services(self, lab: Lab, folder: Path) -> None:
        acme, other = lab.solution("acme"), lab.solution("other")
        for each in (acme, other):
            each.route("GET", "/cell", lua="return 1")
        acme.Keystore.set(key="a", value="kept")
        assert lab.solution("acme", path=folder, replace=True) is acme
        assert acme.get("/n").json() == {"n": 1}
        assert acme.get("/cell").status_code == 404
        assert other.get("/cell").status_code == 200
        assert acme.Keystore.get(key="a") == {"value": "kept"}

    def test_an_invalid_replacement_changes_nothing(self, lab: Lab, folder: Path) -> None:
        acme = lab.solution("acme", path=folder)
        for wrong in (
            {"products": ["nothing"]},
            {"path": folder / "nowhere"},
            {"domain": "elsewhere.example"},
        ):
            with pytest.raises(SettingsError):
                lab.solution("acme", replace=True, **wrong)
            assert acme.get("/n").json() == {"n": 1}

    def test_reload_reads_the_folder_and_keeps_what_cells_added(self, lab: Lab, folder: Path) -> None:
        acme, other = lab.solution("acme", path=folder), lab.solution("other", path=folder)
        product = lab.product("t", resources=RESOURCES)
        linked = lab.solution("linked", products=product, path=folder)
        linked.on("device", "datapoint", lambda data: None)
        acme.route("GET", "/lua", lua="return 1")
        acme.route("GET", "/python", lambda: {"n": "python"})
        acme.module("m", "return {n = 5}")
        write(folder, "2")
        assert acme.get("/n").json() == {"n": 1}
        assert acme.reload() is acme
        assert acme.run("return require('m').n") == 5
        assert [each.get("/n").json() for each in (acme, other)] == [{"n": 2}, {"n": 1}]
        assert acme.get("/lua").json() == 1
        assert acme.get("/python").json() == {"n": "python"}
        linked.reload()
        product.device("d").activate().write(message="x")
        lab.settle()
        assert "device datapoint" in set(linked.logs["run"])

    def test_an_invalid_folder_is_an_error_and_changes_nothing(self, lab: Lab, folder: Path) -> None:
        acme = lab.solution("acme", path=folder)
        write(folder, "")
        with pytest.raises(SettingsError, match=r"endpoints/n.lua"):
            acme.reload()
        assert acme.get("/n").json() == {"n": 1}
        write(folder, "3")
        assert acme.reload().get("/n").json() == {"n": 3}

    def test_runs_in_progress_end_with_the_code_that_they_began_with(self, lab: Lab, folder: Path) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def wait(**others: object) -> str:
            begun.set()
            assert go_on.wait(PATIENCE)
            return "done"

        lab.service("Slow", wait=wait)
        write(folder, "Slow.wait()")
        acme = lab.solution("acme", path=folder)
        answers: list[object] = []
        thread = threading.Thread(target=lambda: answers.append(acme.get("/n").json()))
        thread.start()
        assert begun.wait(PATIENCE)
        write(folder, "4")
        acme.reload()
        assert acme.get("/n").json() == {"n": 4}
        go_on.set()
        thread.join()
        assert answers == [{"n": "done"}]

    def test_mistakes_in_a_folder_are_warnings_in_the_cell(self, lab: Lab, folder: Path) -> None:
        (folder / "modules").mkdir()
        (folder / "modules" / "broken.lua").write_text('error("not today")')
        with pytest.warns(LabWarning, match="solution 'acme': modules failed at set-up: .*not today") as seen:
            acme = lab.solution("acme", path=folder)
        assert seen[0].filename == __file__
        with pytest.warns(LabWarning, match="not today"):
            acme.reload()
        (folder / "modules" / "broken.lua").write_text("return {}")
        acme.reload()

    def test_mistakes_in_a_settings_file_are_warnings_too(self, folder: Path) -> None:
        (folder / "modules").mkdir()
        (folder / "modules" / "broken.lua").write_text('error("not today")')
        config = folder / "lab.yaml"
        config.write_text("solutions:\n  - {id: good}\n  - {id: bad, path: .}\n")
        with pytest.warns(LabWarning, match="solution 'bad': modules failed") as seen, Lab(config=config):
            assert [each.filename for each in seen] == [__file__]


class TestProviders:
    def test_people_and_applications_can_be_declared_again(self, lab: Lab) -> None:
        ann = {"id": "ann", "name": "Ann"}
        shop = {"client_id": "shop", "client_secret": "s", "redirect": "https://shop.example/"}
        provider = lab.provider("acme", people=[ann], applications=[shop])
        for _ in range(2):
            lab.provider("acme", people=[ann], applications=[shop]).people.add("bo", name="Bo")
        lab.provider("acme", people=[ann, {"id": "cy"}])
        assert [each.id for each in provider.people] == ["ann", "bo", "cy"]
        assert [each.client_id for each in provider.applications] == ["shop"]
        with pytest.raises(SettingsError, match="person 'ann' is there already"):
            lab.provider("acme", people=[{"id": "ann", "name": "Another"}])
        with pytest.raises(SettingsError, match="client 'shop' is there already"):
            lab.provider("acme", applications=[{**shop, "client_secret": "t"}])
        with pytest.raises(LabError, match="person 'bo' is there already"):
            provider.people.add("bo", name="Another")


class TestLogs:
    def test_logs_have_printed_texts_and_ends_of_runs(self, lab: Lab, folder: Path) -> None:
        acme, other = lab.solution("acme", path=folder), lab.solution("other", path=folder)
        acme.route("GET", "/fails", lua='log.warn("careful")\nerror("no good")')
        assert acme.logs.empty
        for path in ("/n", "/fails"):
            acme.get(path)
        other.get("/n")
        logs = acme.logs
        shown = logs.astype(object).where(logs.notna(), None)[["run", "level", "status"]].values.tolist()
        assert shown == [
            ["GET /n", "run", 200],
            ["GET /n", "print", None],
            ["GET /fails", "run", 500],
            ["GET /fails", "warn", None],
        ]
        assert list(logs["text"])[1] == "asked"
        assert "no good" in list(logs["text"])[2]
        assert len(other.logs) == 2


class TestPaths:
    @pytest.mark.parametrize("where", [".", "notebooks"])
    def test_paths_of_the_readme_work_in_every_folder_where_kernels_start(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch, where: str
    ) -> None:
        monkeypatch.chdir(Path(__file__).parents[2] / where)
        acme = lab.solution("acme", path="notebooks/solutions/metrics")
        assert acme.get("/metrics").status_code == 200
