"""Discovery of the areas of conformance and their parts, by folder and name."""

from pathlib import Path

from labkit.conformance import areas


def test_a_part_has_requirements_checks_and_faults() -> None:
    parts = {name.rpartition("/")[0] for name, _ in areas.requirement_files()}
    checks, patches = (
        {
            module.__name__.removeprefix("labkit.conformance.").rpartition(".")[0].replace(".", "/")
            for module in areas.modules(kind)
        }
        for kind in ("checks", "mutants")
    )
    rows = {name.rpartition("/")[0] for name, _ in areas.fault_files()}
    assert checks == parts
    assert patches | rows == parts


def test_a_new_area_is_found_by_its_folder(tmp_path: Path) -> None:
    for name in ("notify/statements.toml", "notify/sms/requirements.toml", "fixtures/probe/solution.yaml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n", encoding="utf-8")
    assert [name for name, _ in areas.statement_files(tmp_path)] == ["notify/statements.toml"]
    assert [name for name, _ in areas.requirement_files(tmp_path)] == ["notify/sms/requirements.toml"]


def test_names_consist_of_part_and_function() -> None:
    def times_out() -> None: ...

    for module, name in (
        ("labkit.conformance.device.long_poll.checks", "long-poll/times-out"),
        ("labkit.conformance.user.oauth.checks_tokens", "oauth/times-out"),
        ("tests.conformance.test_checks", "test-checks/times-out"),
    ):
        times_out.__module__ = module
        assert areas.name_of(times_out) == name
