"""The form for a person: identity, consent, and protection."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from labkit import Lab, LabError
from labkit.lab.browser import Browser
from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.cases import cases
from tests.providers.social.clients import (
    ANN,
    CALLBACK,
    authorize_url,
    callback_parameters,
    code_for,
    redeem,
    userinfo,
)

XSS = "\"'><script>alert(1)</script>"


@pytest.fixture
def browser(lab: Lab, acme: Provider, application: Application) -> Browser:
    """A browser that shows the form."""
    browser = lab.browser()
    browser.get(authorize_url(acme, application))
    return browser


def who(lab: Lab, acme: Provider, application: Application, answer: Any) -> Any:
    token = redeem(lab, acme, application, callback_parameters(answer)["code"]).json()["access_token"]
    return userinfo(lab, acme, token).json()


class TestContent:
    def test_application_scopes_people_and_the_redirects_host(self, browser: Browser) -> None:
        text = browser.page.text
        for shown in (
            "Sign in to The &lt;client&gt;",
            "client.example.com",
            "<li>profile</li>",
            "<li>email</li>",
        ):
            assert shown in text
        assert browser.forms[0].choices == {"person": ["ann", "bo", ""], "decision": ["approve", "deny"]}

    def test_it_loads_nothing_from_outside_and_runs_no_script(self, browser: Browser) -> None:
        text, headers = browser.page.text, browser.page.headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert (headers["Referrer-Policy"], headers["Cache-Control"]) == ("no-referrer", "no-store")
        assert not re.search(r"<(script|link|img|iframe)|url\(|@import|https?://", text)

    def test_every_field_has_a_label(self, browser: Browser) -> None:
        text = browser.page.text
        ids = set(re.findall(r'<input id="(\w+)"', text))
        assert ids == set(re.findall(r'<label for="(\w+)"', text)) == {"name", "email", "id"}
        assert '<html lang="en">' in text
        assert "<legend>" in text

    def test_everything_in_it_is_escaped(self, lab: Lab, acme: Provider) -> None:
        application = acme.register(CALLBACK, name=XSS)
        acme.people.add(XSS, name=XSS, email=XSS)
        browser = lab.browser()
        url = authorize_url(acme, application, scope=XSS, state=XSS)
        assert "<script" not in browser.get(url).text
        assert XSS in browser.forms[0].choices["person"]
        entered = browser.submit("authorize", person="", name="", email=XSS, id=XSS)
        assert "<script" not in entered.text
        assert browser.forms[0].fields["email"] == XSS
        assert callback_parameters(browser.submit("authorize", person=XSS))["state"] == XSS

    def test_a_refusal_is_escaped(self, lab: Lab, acme: Provider, application: Application) -> None:
        for changes in ({"client_id": XSS}, {"redirect_uri": XSS}):
            answer = lab.browser().get(authorize_url(acme, application, **changes))
            assert answer.status_code == 400
            assert "<script" not in answer.text
        assert "&lt;script&gt;" in lab.browser().get(authorize_url(acme, application, client_id=XSS)).text


class TestIdentity:
    def test_a_person_can_be_chosen_from_the_list(
        self, lab: Lab, acme: Provider, application: Application, browser: Browser
    ) -> None:
        answer = browser.submit("authorize", person="bo")
        assert who(lab, acme, application, answer)["id"] == "bo"

    def test_a_new_person_can_be_entered_and_is_known_afterwards(
        self, lab: Lab, acme: Provider, application: Application, browser: Browser
    ) -> None:
        answer = browser.submit("authorize", person="", id="cy", name=" Cy ", email="cy@example.com")
        assert who(lab, acme, application, answer) == {"id": "cy", "name": "Cy", "email": "cy@example.com"}
        assert "cy" in acme.people

    def test_a_person_entered_without_an_id_gets_one(
        self, lab: Lab, acme: Provider, application: Application, browser: Browser
    ) -> None:
        answer = browser.submit("authorize", person="", name="Di")
        assert who(lab, acme, application, answer)["id"].isalnum()

    @pytest.mark.parametrize(
        ("entered", "problem"),
        [
            ({"email": "cy@example.com"}, "Please enter a name"),
            ({"name": "Cy", "email": "cy"}, "Please enter a complete email address"),
            ({"name": "Cy", "email": "@"}, "Please enter a complete email address"),
            ({"name": "Cy", "id": "ann"}, "person &#39;ann&#39; is there already"),
            ({"name": "Cy", "id": "x" * 101}, "expected 1 to 100 characters"),
        ],
    )
    def test_an_invalid_entry_is_reported_and_the_form_shown_again(
        self, acme: Provider, browser: Browser, entered: dict[str, str], problem: str
    ) -> None:
        answer = browser.submit("authorize", person="", **entered)
        assert answer.status_code == 400
        assert problem in answer.text
        assert {name: browser.forms[0].fields[name] for name in entered} == entered
        assert len(acme.people) == 2
        assert "code" in callback_parameters(browser.submit("authorize", person="ann"))

    def test_a_person_who_is_not_on_the_list_is_refused(self, acme: Provider, browser: Browser) -> None:
        form = browser.forms[0].fields["form"]
        answer = browser.post("", data={"form": form, "person": "eve", "decision": "approve"})
        assert answer.status_code == 400
        assert "no person" in answer.text


class TestConsent:
    def test_consent_is_for_one_person_and_one_request(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        acme.consent("bo")
        url = authorize_url(acme, application)
        assert "code" in callback_parameters(lab.browser().get(url))
        assert lab.browser().get(url).status_code == 200  # the form again

    def test_automatic_consent_uses_the_first_person_every_time(self) -> None:
        with Lab(seed=7) as lab:
            acme = lab.provider("acme", consent="automatic", people=[ANN])
            application = acme.register(CALLBACK)
            for _ in range(2):
                answer = lab.browser().get(authorize_url(acme, application))
                assert who(lab, acme, application, answer)["id"] == "ann"

    def test_automatic_consent_of_an_unknown_person_is_an_error_with_the_known_ones(
        self, acme: Provider
    ) -> None:
        with pytest.raises(LabError, match="no person 'eve', there are: ann, bo"):
            acme.consent("eve")
        with pytest.raises(LabError, match="no person 'eve', there are: ann, bo"):
            acme.login(authorize_url(acme, acme.register(CALLBACK)), "eve")


class TestProtection:
    def test_a_form_can_be_sent_once(self, browser: Browser) -> None:
        fields = browser.forms[0].filled({"person": "ann"})
        url = str(browser.page.url)
        assert "code" in callback_parameters(browser.submit("authorize", person="ann"))
        again = browser.post(url.partition("?")[0], data=fields)
        assert (again.status_code, "Location" in again.headers) == (400, False)

    @pytest.mark.parametrize("form", ["", "guessed", None])
    def test_it_needs_its_hidden_value(self, browser: Browser, form: str | None) -> None:
        fields = {**browser.forms[0].filled({"person": "ann"}), "form": form}
        answer = browser.post("?", data={name: value for name, value in fields.items() if value is not None})
        assert (answer.status_code, "Location" in answer.headers) == (400, False)

    def test_it_belongs_to_one_browser(
        self, lab: Lab, acme: Provider, application: Application, browser: Browser
    ) -> None:
        fields = browser.forms[0].filled({"person": "ann"})
        other = lab.browser()
        url = acme.endpoints["authorize"]
        assert other.post(url, data=fields).status_code == 403
        other.get(authorize_url(acme, application))
        assert other.post(url, data=fields).status_code == 403
        assert "code" in callback_parameters(browser.submit("authorize", person="ann"))

    def test_its_cookie_is_for_this_host_only(self, browser: Browser) -> None:
        cookie = browser.page.headers["Set-Cookie"]
        assert cookie.startswith("__Host-browser=")
        assert cookie.endswith("; Path=/; Secure; HttpOnly; SameSite=Lax")

    @cases(
        "cookie",
        ['__Host-browser="a\\012Set-Cookie: b=c"', "__Host-browser=" + "x" * 31, "a b=c; =;", b"\xff=\xff"],
    )
    def test_an_unknown_cookie_is_replaced(
        self, lab: Lab, acme: Provider, application: Application, cookie: str | bytes
    ) -> None:
        browser = lab.browser()
        browser.get(authorize_url(acme, application), headers={"Cookie": cookie})
        assert re.fullmatch(r"__Host-browser=\w{32}; Path=/; .*", browser.page.headers["Set-Cookie"])
        assert "code" in callback_parameters(browser.submit("authorize", person="ann"))

    def test_two_tabs_of_a_browser_are_independent(
        self, acme: Provider, application: Application, browser: Browser
    ) -> None:
        first = browser.forms[0].filled({"person": "ann"})
        browser.get(authorize_url(acme, application, state="s-2"))
        assert callback_parameters(browser.submit("authorize", person="bo"))["state"] == "s-2"
        assert callback_parameters(browser.post(acme.endpoints["authorize"], data=first))["state"] == "s-1"

    def test_a_form_without_a_choice_is_refused(self, browser: Browser) -> None:
        fields = {**browser.forms[0].filled({"person": "ann"}), "decision": "maybe"}
        assert browser.post("?", data=fields).status_code == 400

    def test_it_expires_at_its_last_second(self) -> None:
        with Lab(seed=7) as lab:
            acme = lab.provider("acme", people=[ANN])
            application = acme.register(CALLBACK)
            for wait, status in ((599, 302), (600, 400)):
                browser = lab.browser()
                browser.get(authorize_url(acme, application))
                lab.clock.advance(seconds=wait)
                assert browser.submit("authorize", person="ann").status_code == status

    def test_plain_http_is_refused(self) -> None:
        with Lab(seed=7, http_port=0) as lab:
            url = f"http://127.0.0.1:{lab.http_port}/o/oauth2/v2/auth"
            answer = httpx.get(url, headers={"Host": "google.social.lab.localhost"}, trust_env=False)
            assert answer.status_code == 403


def test_a_code_stays_valid_when_the_person_denies_a_later_request(
    lab: Lab, acme: Provider, application: Application
) -> None:
    code = code_for(acme, application)
    acme.login(authorize_url(acme, application), "ann", approve=False)
    assert redeem(lab, acme, application, code).status_code == 200
