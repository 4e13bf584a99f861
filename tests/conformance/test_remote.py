"""The checks against `labkit serve` in another process, where all that need only HTTPS must pass."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from labkit.conformance import runner
from labkit.conformance.catalogue import Catalogue, load
from labkit.conformance.check import STEPS_VARIABLE, Check, all_checks
from labkit.conformance.ready import without_token
from labkit.conformance.target import CONTROLLED, LAB_YAML, Target, open_target
from labkit.conformance.verdict import Verdict
from labkit.core.errors import LabError, SettingsError
from labkit.reporting.verdicts import read_verdicts
from tests.test_serve import serving

# One worker runs them all, with the process that others are forked from (test_serve.py).
pytestmark = [pytest.mark.xdist_group("served"), pytest.mark.timeout(900)]  # of a whole report


STEPS = (
    "60"  # steps of each model: slow on a running clock, and a report already runs more on a virtual clock
)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


@pytest.fixture(scope="module")
def verdicts(catalogue: Catalogue) -> Iterator[list[Verdict]]:
    """The verdicts of a report on a served lab: CI has just made one."""
    if file := os.environ.get("LABKIT_SERVED_VERDICTS"):
        yield read_verdicts(Path(file))
        return
    with pytest.MonkeyPatch.context() as patch, serving(LAB_YAML) as (process, ready):
        patch.setenv(STEPS_VARIABLE, STEPS)
        yield runner.run(all_checks(), Target.remote(json.dumps(ready)), catalogue)
        process.terminate()
        assert process.communicate() == ("", "")
        assert process.returncode == 0


@pytest.mark.sampled
def test_no_check_fails_and_checks_that_need_a_lab_are_skipped(verdicts: list[Verdict]) -> None:
    bad = [each for each in verdicts if each.outcome not in ("passed", "skipped")]
    assert [(each.check, each.outcome, each.reason, each.expected, each.actual) for each in bad] == []
    needs = {each.name: each.needs for each in all_checks()}
    assert [each.check for each in verdicts if each.outcome == "skipped" and not needs[each.check]] == []


@pytest.mark.sampled
@pytest.mark.parametrize("area", ["DEV", "USR"])
@pytest.mark.parametrize("level", ["must", "choice"])
def test_three_quarters_of_the_requirements_are_checked_by_https_alone(
    verdicts: list[Verdict], catalogue: Catalogue, area: str, level: str
) -> None:
    passed = {name for each in verdicts if each.outcome == "passed" for name in each.requirements}
    wanted = [each.id for each in catalogue if each.area == area and each.level == level]
    missing = [each for each in wanted if each not in passed]
    assert len(missing) <= len(wanted) / 4, missing


# ---- a target that offers control over HTTP

EVERY = 9  # of the checks with needs that are not of models: all of them take four minutes
OWN_PROCESS = re.compile(r"need the lab's own process|needs the lab's own process|^no files$")


def test_with_control_no_check_is_skipped_but_those_that_pass_functions(catalogue: Catalogue) -> None:
    chosen = [each for each in all_checks() if each.needs and each.model is None]
    with control_served(LAB_YAML) as ready, closing(Target.remote(json.dumps(ready))) as target:
        assert target.offers == CONTROLLED
        verdicts = runner.run([*chosen[::EVERY], *of_functions(chosen)], target, catalogue)
        outcomes = {each.check: each.outcome for each in verdicts}
        reasons = [each.reason for each in verdicts if each.outcome == "skipped"]
    assert [name for name, outcome in outcomes.items() if outcome not in ("passed", "skipped")] == []
    assert reasons
    assert [reason for reason in reasons if not OWN_PROCESS.search(reason)] == []
    assert list(outcomes.values()).count("passed") > 20


def of_functions(checks: list[Check]) -> list[Check]:
    return [each for each in checks if each.name in ("functions/routes", "services/standing-in")]


def test_the_url_of_control_is_a_target_with_the_token_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with control_served(LAB_YAML) as ready:
        control = ready["control"]
        monkeypatch.setenv("LABKIT_TOKEN", control["token"])
        with open_target(control["url"]) as target:
            assert target.offers == CONTROLLED
            assert (
                target.product("token-open").domain
                == ready["products"]["token-open"].split("/")[2].split(":")[0]
            )
            assert target.address.https_port == ready["https_port"]
        assert control["token"] not in without_token(json.dumps(ready))
        del control["token"]
        assert json.loads(without_token(json.dumps(ready))) == ready
        assert without_token(control["url"]) == control["url"]
        with open_target(json.dumps(ready)) as target:
            assert target.offers == CONTROLLED
        monkeypatch.delenv("LABKIT_TOKEN")
        with open_target(json.dumps(ready)) as target:
            assert target.offers == frozenset()
        with pytest.raises(LabError, match="token: expected the one"), open_target(control["url"]):
            raise AssertionError


@contextmanager
def control_served(config: Path) -> Iterator[dict[str, Any]]:
    with serving(config, "--control", "--seed", "7") as (process, ready):
        yield ready
        process.terminate()
        process.communicate()


# ---- descriptions of a target


def ready(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "ca.pem").write_text("a certificate")
    urls = {name: f"https://{name}.example:8443" for name in ("token-open", "metrics")}
    return {
        "https_port": 8443,
        "http_port": None,
        "ca_file": str(tmp_path / "ca.pem"),
        "products": {"token-open": urls["token-open"]},
        "solutions": {"metrics": urls["metrics"]},
    }


def test_a_target_is_described_by_a_line_a_file_or_its_content(tmp_path: Path) -> None:
    described = ready(tmp_path)
    file = tmp_path / "target.json"
    file.write_text(json.dumps(described))
    for form in (described, json.dumps(described), str(file)):
        target = Target.remote(form)
        assert target.product("token-open").domain == "token-open.example"
        assert (target.address.host, target.address.https_port) == ("127.0.0.1", 8443)
        assert (target.http_port, target.offers) == (None, frozenset())
    assert Target.remote({**described, "host": "192.0.2.1", "http_port": 80}).address.host == "192.0.2.1"


def test_an_incomplete_target_names_the_missing_key(tmp_path: Path) -> None:
    described = ready(tmp_path)
    for key in ("https_port", "ca_file", "products", "solutions"):
        with pytest.raises(SettingsError, match=key):
            Target.remote({name: value for name, value in described.items() if name != key})
    with pytest.raises(SettingsError, match=r"none\.pem: No such file or directory; has its server ended"):
        Target.remote({**described, "ca_file": str(tmp_path / "none.pem")})
    with pytest.raises(SettingsError, match="cannot be read"):
        Target.remote("{")
