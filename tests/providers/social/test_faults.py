"""Faults by name: each affects one request, and the next succeeds."""

from __future__ import annotations

import httpx
import pytest

from labkit import Lab, LabError
from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.providers.social.clients import CALLBACK, authorize_url, callback_parameters, code_for, redeem
from tests.providers.social.signer import Signer, reason

STEPS = ("token", "userinfo", "authorize")


def visit(lab: Lab, acme: Provider, application: Application, step: str) -> httpx.Response:
    """Send a request of a step that would be answered with 400, 401 or the form."""
    if step == "token":
        return redeem(lab, acme, application, "unknown")
    url = authorize_url(acme, application) if step == "authorize" else acme.endpoints["userinfo"]
    return lab.browser().get(url)


def test_deny(acme: Provider, application: Application) -> None:
    acme.fault("deny")
    callback = callback_parameters(acme.login(authorize_url(acme, application), "ann"))
    assert (callback["error"], callback["state"]) == ("access_denied", "s-1")
    assert "code" in callback_parameters(acme.login(authorize_url(acme, application), "ann"))


def test_deny_affects_a_form_that_is_already_open(lab: Lab, acme: Provider, application: Application) -> None:
    browser = lab.browser()
    browser.get(authorize_url(acme, application))
    acme.fault("deny")
    assert callback_parameters(browser.submit("authorize", person="ann"))["error"] == "access_denied"


def test_wrong_state(acme: Provider, application: Application) -> None:
    acme.fault("wrong state")
    callback = callback_parameters(acme.login(authorize_url(acme, application), "ann"))
    assert callback["state"] != "s-1"
    assert callback["code"]
    assert callback_parameters(acme.login(authorize_url(acme, application), "ann"))["state"] == "s-1"


def test_wrong_state_of_oauth_1_is_another_request_token(bird: Provider, lab: Lab) -> None:
    signer = Signer(lab, bird, bird.register(CALLBACK))
    signer.send("request_token")
    bird.fault("wrong state")
    back = signer.approve()
    assert back["oauth_token"] != signer.tokens["oauth_token"]
    assert signer.send("token", verifier=back["oauth_verifier"]).status_code == 200


def test_expired_code(lab: Lab, acme: Provider, application: Application) -> None:
    code = code_for(acme, application)
    acme.fault("expired code")
    answer = redeem(lab, acme, application, code)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert redeem(lab, acme, application, code).status_code == 200


def test_expired_code_of_oauth_1(lab: Lab, bird: Provider) -> None:
    signer = Signer(lab, bird, bird.register(CALLBACK))
    signer.send("request_token")
    verifier = signer.approve()["oauth_verifier"]
    bird.fault("expired code")
    answer = signer.send("token", verifier=verifier)
    assert (answer.status_code, reason(answer)) == (401, "the request token has expired")
    assert signer.send("token", verifier=verifier).status_code == 200


@pytest.mark.parametrize("step", STEPS)
def test_down_ends_the_connection_without_an_answer(
    lab: Lab, acme: Provider, application: Application, step: str
) -> None:
    acme.fault("down", step)
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        visit(lab, acme, application, step)
    assert visit(lab, acme, application, step).status_code < 500
    assert (acme.inbox[-2].status, acme.inbox[-2].answer, acme.inbox[-2].fault) == (None, "no answer", "down")
    assert lab.journal.select("error") == []


@pytest.mark.parametrize("step", STEPS)
def test_slow_delays_the_answer_until_the_caller_times_out(
    lab: Lab, acme: Provider, application: Application, step: str
) -> None:
    acme.fault("slow", step)
    patience = httpx.Timeout(10, read=0.02)  # on a busy machine connecting may take longer
    with pytest.raises(httpx.ReadTimeout):
        lab.browser().request("POST" if step == "token" else "GET", acme.endpoints[step], timeout=patience)
    lab.settle()
    assert (acme.inbox[-1].status, acme.inbox[-1].fault) == (None, "slow")
    detail = lab.journal.select("request", "social/acme")[-1].detail
    assert detail is not None
    assert (detail["answer"], detail["fault"]) == ("no answer", "slow")
    assert visit(lab, acme, application, step).status_code < 500


def test_slow_ends_by_itself() -> None:
    with Lab(seed=7, guard={"outbound": 0.05}) as lab:
        google = lab.provider("google")
        google.fault("slow", "userinfo")
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            lab.browser().get(google.endpoints["userinfo"])


@pytest.mark.parametrize("step", STEPS)
def test_malformed_json(lab: Lab, acme: Provider, application: Application, step: str) -> None:
    acme.fault("malformed json", step)
    answer = visit(lab, acme, application, step)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    with pytest.raises(ValueError, match="Expecting value"):
        answer.json()


@pytest.mark.parametrize("step", STEPS)
def test_server_error(lab: Lab, acme: Provider, application: Application, step: str) -> None:
    acme.fault("server error", step)
    assert visit(lab, acme, application, step).status_code == 500
    assert visit(lab, acme, application, step).status_code < 500


def test_faults_of_the_request_token(lab: Lab, bird: Provider) -> None:
    signer = Signer(lab, bird, bird.register(CALLBACK))
    bird.fault("server error", "request_token")
    assert signer.send("request_token").status_code == 500
    assert signer.send("request_token").status_code == 200


def test_they_wait_for_their_step_in_order(lab: Lab, acme: Provider, application: Application) -> None:
    acme.fault("server error")
    acme.fault("malformed JSON")
    assert acme.faults == ["server error at token", "malformed JSON at token"]
    assert visit(lab, acme, application, "userinfo").status_code == 401
    assert visit(lab, acme, application, "token").status_code == 500
    assert visit(lab, acme, application, "token").status_code == 200
    assert acme.faults == []


def test_an_unknown_fault_is_an_error_with_the_known_ones(acme: Provider) -> None:
    with pytest.raises(
        LabError, match="no fault 'explode', there are: deny, wrong state, expired code, slow, down"
    ):
        acme.fault("explode")
    with pytest.raises(LabError, match="'deny' cannot hit 'token', but: authorize"):
        acme.fault("deny", "token")
    with pytest.raises(LabError, match="speaks OAuth 2"):
        acme.fault("down", "request_token")
    assert acme.faults == []
