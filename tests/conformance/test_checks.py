"""The checks on a lab in this process, and the runner's verdicts on what a check does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from labkit import Lab
from labkit.conformance import expect, runner
from labkit.conformance.catalogue import Catalogue, load
from labkit.conformance.check import Check, Function, all_checks, check, select
from labkit.conformance.endpoints import first_use
from labkit.conformance.fork_server import ForkServer
from labkit.conformance.set_up import SetUpError
from labkit.conformance.target import LAB_YAML, Target
from labkit.conformance.verdict import Mismatch, Unavailable, Verdict
from labkit.fleet.device import DeviceError, VirtualDevice
from labkit.fleet.flow import LabAddress
from labkit.settings import load as load_settings
from tests.played import verdicts_of

CHECKS = all_checks()


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


@pytest.fixture(scope="module")
def local() -> Iterator[Target]:
    with Lab(1, config=LAB_YAML) as lab:
        yield Target.local(lab, 1)


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest, server: ForkServer) -> dict[str, Verdict]:
    """The verdicts of all checks whose tests are in this session."""
    name = test_a_local_lab_passes.__name__
    wanted = [item for item in request.session.items if getattr(item, "originalname", "") == name]
    checks = [item.callspec.params["each"] for item in wanted]  # type: ignore[attr-defined]
    return verdicts_of(checks, request.session, server)


@pytest.mark.timeout(600)  # the first test may wait until all checks and all mutants have run
@pytest.mark.parametrize("each", CHECKS, ids=lambda each: each.name)
def test_a_local_lab_passes(each: Check, verdicts: dict[str, Verdict]) -> None:
    assert verdicts[each.name].outcome == "passed", _shown(verdicts[each.name])


def _shown(verdict: Verdict) -> str:
    return f"{verdict.reason}\nexpected {verdict.expected}\nactual {verdict.actual}\n{verdict.exchange}"


def test_titles_continue_the_sentence_of_a_table() -> None:
    titles = [each.title for each in CHECKS]
    assert [title for title in titles if not title or title != title.strip() or title.endswith(".")] == []


def test_needs_are_features_that_a_lab_offers() -> None:
    assert {need for each in CHECKS for need in each.needs} <= {
        "clock",
        "journal",
        "mailbox",
        "handsets",
        "settings",
        "polls",
        "files",
    }


def test_select_matches_whole_parts() -> None:
    @check("DEV-ALIAS-1", "one")
    async def one(target: Target) -> None: ...

    @check("DEV-ALIAS-10 DEV-READ-1", "ten")
    async def ten(target: Target) -> None: ...

    assert select([one, ten]) == [one, ten]
    assert select([one, ten], "DEV-ALIAS") == [one, ten]
    assert select([one, ten], "DEV-ALIAS-1") == [one]
    assert select([one, ten], "DEV-READ", "DEV-POLL") == [ten]
    assert select([one, ten], "DEV-ALI") == []


# ---- verdicts, on a target where no server listens

MUST, CHOICE = "DEV-ALIAS-1", "DEV-KEEP-3"
TOKEN = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def nowhere() -> Target:
    return Target(
        "nowhere", LabAddress("127.0.0.1", 1, ""), {"token-open": "x.example"}, load_settings(LAB_YAML)
    )


async def judged(
    function: Function, target: Target, catalogue: Catalogue, requirements: str = MUST
) -> Verdict:
    return await runner.run_one(check(requirements, "a check")(function), target, catalogue)


def answer(status: int, text: str = "") -> httpx.Response:
    request = httpx.Request("GET", "https://x.example/path", headers={"X-Platform-CIK": TOKEN})
    return httpx.Response(status, text=text, request=request)


async def test_a_check_that_returns_passes(nowhere: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        assert target is nowhere

    verdict = await judged(function, nowhere, catalogue)
    assert (verdict.outcome, verdict.reason, verdict.requirements) == ("passed", "", (MUST,))
    assert verdict.check == "test-checks/function"
    assert verdict.seconds > 0


async def test_a_mismatch_fails_and_has_the_exchange(nowhere: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        expect.status(answer(500, f"token={TOKEN}"), 204)

    verdict = await judged(function, nowhere, catalogue)
    assert (verdict.outcome, verdict.reason) == ("failed", "status")
    assert (verdict.expected, verdict.actual) == ("204", "500")
    assert "GET /path" in verdict.exchange
    assert "HTTP 500" in verdict.exchange
    assert TOKEN not in str(verdict.as_dict())
    assert Verdict.from_dict(verdict.as_dict()) == verdict


@pytest.mark.parametrize(
    ("requirements", "outcome"), [(CHOICE, "warned"), (f"{CHOICE} {MUST}", "failed"), (MUST, "failed")]
)
async def test_only_choices_warn(
    nowhere: Target, catalogue: Catalogue, requirements: str, outcome: str
) -> None:
    async def function(target: Target) -> None:
        raise Mismatch("something", 1, 2)

    assert (await judged(function, nowhere, catalogue, requirements)).outcome == outcome


async def test_a_refused_device_fails(nowhere: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        raise DeviceError("d-1: write", answer(403, "no"))

    verdict = await judged(function, nowhere, catalogue)
    assert (verdict.outcome, verdict.reason, verdict.actual) == ("failed", "d-1: write", "403")
    assert "HTTP 403" in verdict.exchange


async def test_a_target_that_closes_the_connection_fails(nowhere: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        raise httpx.RemoteProtocolError("no response", request=answer(200).request)

    verdict = await judged(function, nowhere, catalogue)
    assert (verdict.outcome, verdict.reason) == ("failed", "GET /path")
    assert verdict.actual == "RemoteProtocolError no response"


@pytest.mark.parametrize(
    ("needs", "reason"), [({"clock"}, "no clock"), ({"polls", "journal"}, "no journal, no polls")]
)
async def test_a_check_is_skipped_where_the_target_lacks_a_feature(
    nowhere: Target, catalogue: Catalogue, needs: set[str], reason: str
) -> None:
    @check(MUST, "a check", needs=needs)
    async def never(target: Target) -> None:
        raise AssertionError

    verdict = await runner.run_one(never, nowhere, catalogue)
    assert (verdict.outcome, verdict.reason) == ("skipped", reason)


async def test_an_unavailable_check_is_skipped(nowhere: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        raise Unavailable("the target has no such port")

    verdict = await judged(function, nowhere, catalogue)
    assert (verdict.outcome, verdict.reason) == ("skipped", "the target has no such port")


@pytest.mark.parametrize("requirements", [MUST, CHOICE])
async def test_a_failed_precondition_is_broken(
    nowhere: Target, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch, requirements: str
) -> None:
    async def refused(self: VirtualDevice) -> None:
        raise DeviceError(f"{self.identity}: activate", answer(409, "taken"))

    async def function(target: Target) -> None:
        await target.activated("token-open")

    monkeypatch.setattr(VirtualDevice, "activate", refused)
    verdict = await judged(function, nowhere, catalogue, requirements)
    assert verdict.outcome == "broken"
    assert re.fullmatch(r"set-up: a device of token-open: check-\w+-1: activate: 409 taken", verdict.reason)


async def test_whitelisted_identities_that_earlier_runs_used_are_skipped(nowhere: Target) -> None:
    [product] = [each for each in load_settings(LAB_YAML).products if each.id == "token-closed"]
    free = set(product.identities[7:])
    requested: list[str] = []

    async def use(identity: str) -> httpx.Response:
        requested.append(identity)
        return answer(200 if identity in free else 409)

    for _ in range(200):
        assert (await first_use(nowhere, "token-closed", use, taken=409)).status_code == 200
        assert requested[-1] in free
    assert len(set(requested)) == len(requested)
    free.clear()
    with pytest.raises(SetUpError, match="40 whitelisted identities of token-closed in a row"):
        await first_use(nowhere, "token-closed", use, taken=409)
    while len(set(requested)) < len(product.identities):
        requested.append(nowhere.whitelisted("token-closed"))
    with pytest.raises(SetUpError, match="all whitelisted identities of token-closed are used up"):
        nowhere.whitelisted("token-closed")


async def test_a_fresh_lab_has_no_used_identity(local: Target) -> None:
    async def use(identity: str) -> httpx.Response:
        return answer(409)

    assert (await first_use(local, "token-closed", use, taken=409)).status_code == 409


def test_two_runs_elsewhere_share_no_name_even_with_one_seed() -> None:
    def names(lab: Any) -> set[str]:
        runs = [
            Target(
                "x",
                LabAddress("127.0.0.1", 1, ""),
                {},
                load_settings(LAB_YAML),
                lab=lab,
                seed=7,
                fresh=lab is not None,
            )
            for _ in range(2)
        ]
        return {each.identity() for each in runs}

    assert len(names(None)) == 2
    assert len(names(SimpleNamespace(clock=SimpleNamespace(rate=0)))) == 1


async def _misspells(target: Target) -> None:
    expect.staus(await target.client("token-open").request("GET", "/timestamp"), 200)  # type: ignore[attr-defined]


async def _misses(target: Target) -> None:
    await target.client("token-open").request("GET", "/timestamp")
    expect.equal("text", "a")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("function", "told"), [(_misspells, "did you mean status?"), (_misses, "argument: 'expected'")]
)
async def test_an_error_of_the_check_is_broken(
    local: Target, catalogue: Catalogue, function: Function, told: str
) -> None:
    verdict = await judged(function, local, catalogue)
    assert verdict.outcome == "broken"
    assert re.search(f"{re.escape(told)} \\(test_checks.py:\\d+\\)$", verdict.reason)


async def test_a_name_that_is_not_there_is_broken(nowhere: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        raise KeyError("oops")

    assert (await judged(function, nowhere, catalogue)).reason.startswith("KeyError: 'oops' (test_checks.py:")


async def _reads_it(target: Target) -> None:
    expect.status(target.client("token-open").request("GET", "/timestamp"), 200)  # type: ignore[arg-type]


async def _shows_it(target: Target) -> None:
    expect.equal("a", 1, 1, target.client("token-open").request("GET", "/timestamp"))  # type: ignore[arg-type]


async def _compares_it(target: Target) -> None:
    device = await target.activated("token-open")
    expect.equal("text", device.read("text"), {"text": "a"})


async def _drops_it(target: Target) -> None:
    device = await target.activated("token-open")
    device.read("text")  # type: ignore[unused-coroutine]


@pytest.mark.parametrize("function", [_reads_it, _shows_it, _compares_it, _drops_it])
async def test_a_check_that_forgets_await_is_broken(
    local: Target, catalogue: Catalogue, function: Function
) -> None:
    verdict = await judged(function, local, catalogue)
    assert verdict.outcome == "broken"
    assert verdict.reason.startswith("the request was not awaited: write `await` before its call (")


async def test_a_value_that_the_check_cannot_read_fails(local: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        response = await target.client("token-open").request("GET", "/timestamp")
        datetime.fromtimestamp(int(response.text) * 1000, UTC)

    verdict = await judged(function, local, catalogue)
    assert verdict.outcome == "failed"
    assert re.fullmatch(r"ValueError: year .*\d+.*", verdict.actual)  # each Python has its own words
    assert verdict.exchange.startswith("GET /timestamp")


@pytest.mark.parametrize("text", ["1795478338000", "0", "soon", "-5", "1.5", "1795478338"])
def test_a_wrong_time_blames_only_the_requirement_of_the_time(catalogue: Catalogue, text: str) -> None:
    wrong = ("timestamp/is-now", "write/time-of-receipt", "record/answer", "bindings/dates", "send/model")
    wanted = [each for each in CHECKS if each.name in wrong]
    with Lab(config=LAB_YAML) as lab:
        target = Target.local(lab)
        target.offers -= {"clock"}
        lab.faults.add("GET /timestamp", body=text)
        verdicts = {each.check: each for each in runner.run(wanted, target, catalogue)}
    assert (verdicts.pop("timestamp/is-now").outcome, len(verdicts)) == ("failed", 4)
    assert {(each.outcome, each.cause) for each in verdicts.values()} == {("not reached", "DEV-TIME-1")}
    assert all(repr(text) in each.actual for each in verdicts.values())


async def test_an_unreachable_target_is_broken(nowhere: Target, catalogue: Catalogue) -> None:
    async def function(target: Target) -> None:
        raise httpx.ConnectError("refused", request=answer(200).request)

    assert (await judged(function, nowhere, catalogue)).outcome == "broken"


async def test_a_check_leaves_no_open_connection(local: Target, catalogue: Catalogue) -> None:
    clients = []

    async def function(target: Target) -> None:
        clients.append(target.client("token-open"))
        await clients[0].request("GET", "/timestamp")
        assert clients[0]._transport is not None
        raise Mismatch("something", 1, 2)

    assert (await judged(function, local, catalogue)).outcome == "failed"
    assert clients[0]._transport is None


def test_run_reports_verdicts_one_by_one(nowhere: Target, catalogue: Catalogue) -> None:
    @check(MUST, "good")
    async def good(target: Target) -> None: ...

    @check(MUST, "bad")
    async def bad(target: Target) -> None:
        raise Mismatch("something", 1, 2)

    fallen: list[Verdict] = []
    verdicts = runner.run([bad, good], nowhere, catalogue, fallen.append)
    assert [each.outcome for each in verdicts] == ["failed", "passed"]
    assert fallen == verdicts
