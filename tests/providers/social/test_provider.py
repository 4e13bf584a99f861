"""Providers in a lab: names, settings, people, applications, inbox, journal."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, SettingsError
from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.cases import cases
from tests.providers.social.clients import ANN, BO, CALLBACK, authorize_url, code_for, redeem, userinfo

YAML = """
providers:
  social:
    - name: Google
      people: [{id: ann, name: Ann Lee, email: ann@example.com}]
      applications:
        - {client_id: metrics, client_secret: s3cret, redirect: https://metrics.apps.lab.localhost/cb}
    - name: acme
      protocol: oauth1
      consent: automatic
      people: [{id: bo}]
    - name: elsewhere
      outside:
        authorize: https://id.example.com/authorize
        token: https://id.example.com/token
        userinfo: https://api.example.com/me
"""


class TestSettings:
    def lab(self, folder: Path, text: str) -> Lab:
        file = folder / "lab.yaml"
        file.write_text(text)
        return Lab(seed=7, config=file)

    def test_settings_in_a_file(self, tmp_path: Path) -> None:
        with self.lab(tmp_path, YAML) as lab:
            google, acme = lab.provider("google"), lab.provider("acme")
            (application,) = google.applications
            assert (application.client_id, application.client_secret) == ("metrics", "s3cret")
            assert application.redirect == f"https://metrics.apps.lab.localhost:{lab.address.https_port}/cb"
            returned = google.login(authorize_url(google, application), "ann").headers["Location"]
            assert returned.startswith(f"{application.redirect}?code=")
            assert (acme.protocol, [each.id for each in acme.people]) == ("oauth1", ["bo"])
            assert lab.provider("elsewhere").endpoints == {
                "authorize": "https://id.example.com/authorize",
                "token": "https://id.example.com/token",
                "userinfo": "https://api.example.com/me",
            }

    @pytest.mark.parametrize(
        ("entry", "error"),
        [
            (
                "{name: google, protocol: oauth1}",
                r"\.protocol: expected oauth2, the protocol of google",
            ),
            ("{name: twitter, protocol: oauth2}", r"\.protocol: expected oauth1"),
            ("{name: acme, protocol: saml}", r"\.protocol: expected 'oauth1' or 'oauth2'"),
            ("{name: a_b}", r"\[0\].name: expected lower-case letters, digits"),
            ("{name: acme, colour: red}", r"\.colour: unknown key"),
            (
                "{name: acme, consent: automatic}",
                r"\.consent: automatic consent needs somebody in people",
            ),
            (
                "{name: acme, people: [{id: a}, {id: a}]}",
                r"\.people: expected ids that differ, not 'a' twice",
            ),
            ("{name: acme, people: [{name: a}]}", r"\.people\[0\].id: is required"),
            (
                "{name: acme, applications: [{client_id: a, redirect: 'https://a/'}]}",
                "client_secret: is required",
            ),
            (
                "{name: acme, applications: [{client_id: a, client_secret: b, redirect: 'a/b'}]}",
                r"\.redirect\[0\]: expected an http or https URL|\.redirect: expected an http or https URL",
            ),
            (
                "{name: acme, applications: [{client_id: a, client_secret: b, redirect: 'https://a/#b'}]}",
                "without a fragment",
            ),
            ("{name: acme, applications: [{client_id: a, client_secret: b, redirect: []}]}", "redirect"),
            (
                "{name: acme, outside: {authorize: 'https://a/', token: 'https://a/'}}",
                "outside.userinfo: is required",
            ),
            (
                "{name: twitter, outside: {authorize: 'https://a/', token: 'https://a/', userinfo: 'https://a/'}}",
                r"\.outside: expected request_token for oauth1",
            ),
            ("{name: acme}\n    - {name: ACME}", r"\[1\].name: 'acme' is there already"),
        ],
    )
    def test_an_invalid_setting_is_an_error_with_key_and_line(
        self, tmp_path: Path, entry: str, error: str
    ) -> None:
        with pytest.raises(SettingsError, match=error) as raised:
            self.lab(tmp_path, f"providers:\n  social:\n    - {entry}\n")
        assert re.match(r"providers\.social(\[\d\]|\.(acme|google|twitter))\.", str(raised.value))
        assert ("(line 4)" if "is there already" in error else "(line 3)") in str(raised.value)

    def test_secrets_are_hidden(self, tmp_path: Path) -> None:
        with self.lab(tmp_path, YAML) as lab:
            assert "s3cret" not in repr(lab.provider("google").applications)


class TestNames:
    def test_five_always_exist_and_others_can_be_added(self, lab: Lab) -> None:
        for name in ("google", "FACEBOOK", "Amazon", "github", "twitter"):
            assert lab.provider(name).name == name.lower()
        with pytest.raises(
            LabError, match="no provider 'nobody', there are: google, facebook, amazon, github, twitter"
        ):
            lab.provider("nobody")

    def test_settings_of_an_existing_provider_add_to_it(self) -> None:
        with Lab(seed=7) as lab:
            google = lab.provider("google", people=[ANN])
            lab.provider("google", people=[BO], consent="automatic")
            assert [each.id for each in google.people] == ["ann", "bo"]
            lab.reset()
            assert [each.id for each in google.people] == ["ann", "bo"]
            for wrong in ({"people": [{**ANN, "name": "Another"}]}, {"protocol": "oauth1"}):
                with pytest.raises(SettingsError):
                    lab.provider("google", **wrong)
            app = {"client_id": "a", "client_secret": "b", "redirect": CALLBACK}
            lab.provider("google", applications=[app])
            with pytest.raises(SettingsError, match="client 'a' is there already"):
                lab.provider(
                    "google", applications=[{**app, "client_secret": "another"}], people=[{"id": "cy"}]
                )
            assert "cy" not in google.people
            lab.provider("acme", protocol="oauth1")
            with pytest.raises(SettingsError, match="expected oauth1"):
                lab.provider("acme", protocol="oauth2")

    def test_products_and_solutions_cannot_use_their_domains(self) -> None:
        with Lab(seed=7) as lab:
            for add in (lab.product, lab.solution):
                with pytest.raises(SettingsError, match=r"google\.social\.lab\.localhost is taken"):
                    add("thing", domain="google.social.lab.localhost")
            lab.solution("ours", domain="acme.social.lab.localhost")
            lab.product("gauge", domain="acme2.social.lab.localhost")
            for name in ("acme", "acme2"):
                with pytest.raises(SettingsError, match=f"{name}.social.lab.localhost is taken"):
                    lab.provider(name, protocol="oauth2")

    def test_the_certificate_has_their_names_and_similar_custom_domains(self) -> None:
        with Lab(seed=7, domain="lab.example.com") as lab:
            lab.solution("ours", domain="xsocial.lab.example.com").route("GET", "/", lambda: "here")
            assert lab.browser().get(lab.solution("ours").url("/")).text == "here"
            assert lab.browser().get(lab.provider("google").url("/")).status_code == 404


class TestPeopleAndApplications:
    def test_a_person_is_added_once(self, acme: Provider) -> None:
        assert acme.people.add("cy", email="cy@example.com").title == "cy"
        assert acme.people.get("cy").email == "cy@example.com"
        with pytest.raises(LabError, match="'cy' is there already"):
            acme.people.add("cy")
        for id in ("", " a", "a\nb", "x" * 101):
            with pytest.raises(LabError, match="1 to 100 characters"):
                acme.people.add(id)

    def test_an_application_gets_new_credentials(self, acme: Provider) -> None:
        one, two = acme.register(CALLBACK), acme.register([CALLBACK, "https://client.example.com/second"])
        assert one.client_id != two.client_id
        assert one.client_secret != two.client_secret
        assert len(two.redirects) == 2
        assert one.client_secret not in repr(one)

    @cases("redirect", ["callback", "javascript:alert(1)", "https://a/#b", "https://u@a/", []])
    def test_an_invalid_redirect_is_not_registered(self, acme: Provider, redirect: Any) -> None:
        with pytest.raises(LabError, match="redirect"):
            acme.register(redirect)
        assert acme.applications == []

    def test_a_redirect_to_the_lab_itself_gets_its_port(self, lab: Lab, acme: Provider) -> None:
        registered = acme.register(
            [
                "https://ours.apps.lab.localhost/cb?x=1",
                "https://ours.apps.lab.localhost:1/cb",
                "https://client.example.com/cb",
            ]
        ).redirects
        assert registered == (
            f"https://ours.apps.lab.localhost:{lab.address.https_port}/cb?x=1",
            "https://ours.apps.lab.localhost:1/cb",
            "https://client.example.com/cb",
        )


class TestReceivedRequests:
    def secrets(self, lab: Lab, acme: Provider, application: Application) -> list[str]:
        code = code_for(acme, application)
        token = redeem(lab, acme, application, code).json()
        userinfo(lab, acme, token["access_token"])
        lab.browser().get(f"{acme.endpoints['userinfo']}?access_token={token['access_token']}")
        return [code, "s-1", application.client_secret, token["access_token"], token["refresh_token"]]

    def test_the_inbox_shows_them_without_secrets(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        secrets = self.secrets(lab, acme, application)
        assert [(each.method, each.path, each.status) for each in acme.inbox] == [
            ("GET", "/authorize", 302),
            ("POST", "/token", 200),
            ("GET", "/userinfo", 200),
            ("GET", "/userinfo", 200),
        ]
        assert acme.inbox[0].parameters["scope"] == "profile email"
        assert acme.inbox[0].answer == f"redirect to {CALLBACK}?code=…&state=…"
        assert acme.inbox[2].answer == "user info of ann"
        assert acme.inbox[2].parameters == {"authorization": "Bearer …"}
        assert acme.inbox[0].time == lab.clock.time
        text = repr(acme.inbox) + acme.inbox._repr_html_() + acme.inbox.frame().to_csv()
        assert not [each for each in secrets if each in text]

    def test_the_journal_has_them_too(self, lab: Lab, acme: Provider, application: Application) -> None:
        secrets = self.secrets(lab, acme, application)
        records = lab.journal.select("request", "social/acme")
        assert [each.summary for each in records] == [
            "GET /authorize",
            "POST /token",
            "GET /userinfo",
            "GET /userinfo",
        ]
        assert [each.status for each in records] == [302, 200, 200, 200]
        text = lab.journal.canonical()
        assert not [each for each in secrets if each in text]
        assert '"client_secret": "…"' in text

    def test_a_seed_reproduces_a_story(self) -> None:
        def story() -> str:
            with Lab(seed=7) as lab:
                acme = lab.provider("acme", people=[ANN])
                application = acme.register("https://acme.social.lab.localhost/cb")  # only the port differs
                url = authorize_url(acme, application)
                lab.browser().get(url.replace("cb", "other"))
                redeem(lab, acme, application, str(acme.login(url, "ann").url.params["code"]))
                assert str(lab.address.https_port) not in lab.journal.canonical()
                return lab.journal.canonical()

        assert story() == story()

    def test_a_reset_removes_requests_and_additions(
        self, lab: Lab, acme: Provider, application: Application
    ) -> None:
        token = redeem(lab, acme, application, code_for(acme, application)).json()["access_token"]
        acme.people.add("cy")
        acme.fault("down")
        lab.reset()
        assert (len(acme.inbox), acme.applications, acme.faults) == (0, [], [])
        assert [each.id for each in acme.people] == ["ann", "bo"]
        assert userinfo(lab, acme, token).status_code == 401


def test_it_has_a_representation_in_notebooks(acme: Provider, application: Application) -> None:
    assert repr(acme) == "<provider acme at acme.social.lab.localhost>"
    assert "The &lt;client&gt;" in acme._repr_html_()
    assert "ann@example.com" in acme.people._repr_html_()
    assert repr(acme.people) == "<people: ann, bo>"


def test_a_path_that_is_not_encoded_is_refused(lab: Lab, acme: Provider) -> None:
    head = f"GET /authorize?a=\xff HTTP/1.1\r\nHost: {acme.domain}\r\n\r\n".encode("latin-1")
    with (
        socket.create_connection(("127.0.0.1", lab.address.https_port)) as plain,
        lab.address.context().wrap_socket(plain, server_hostname=acme.domain) as tls,
    ):
        tls.sendall(head)
        assert b" 400 " in tls.recv(100).partition(b"\r\n")[0]
    assert lab.journal.select("error") == []
