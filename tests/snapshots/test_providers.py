"""Identity providers in a snapshot: open forms, codes and tokens go on, in the same lab and in another one."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

from labkit import Application, Lab

BACK = "https://acme.apps.lab.localhost/back"


def authorize(lab: Lab, application: Application) -> str:
    query = urlencode(
        {
            "client_id": application.client_id,
            "redirect_uri": application.redirect,
            "response_type": "code",
            "scope": "openid",
        }
    )
    browser = lab.browser()
    browser.get(f"{lab.provider('google').url('/o/oauth2/v2/auth')}?{query}", follow=False)
    lab.provider("google").consent("ann")
    answer = browser.get(f"{lab.provider('google').url('/o/oauth2/v2/auth')}?{query}", follow=False)
    return parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]


def exchange(lab: Lab, application: Application, code: str) -> tuple[int, str]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": application.client_id,
        "client_secret": application.client_secret,
        "redirect_uri": application.redirect,
    }
    answer = lab.browser().post(lab.provider("google").endpoints["token"], data=form)
    return answer.status_code, answer.text


def test_codes_and_tokens_go_on(lab: Lab) -> None:
    with Lab(seed=7) as other:
        google = lab.provider("google")
        google.people.add("ann", "Ann \u00d8")
        application = google.register(BACK, name="a'pp")
        lab.solution("acme")
        code = authorize(lab, application)
        past = lab.snapshot()
        first = exchange(lab, application, code)
        assert first[0] == 200
        assert exchange(lab, application, code)[0] == 400  # it was used
        lab.restore(past)
        assert exchange(lab, application, code) == first
        other.restore(past)
        [there] = other.provider("google").applications
        assert there.redirect == other.solution("acme").url("/back")
        assert exchange(other, there, code)[0] == 200
        late = authorize(other, there)
        past = other.snapshot()
        other.clock.advance(601)
        other.restore(past)
        assert exchange(other, there, late)[0] == 200
        other.restore(past)
        other.clock.advance(601)
        assert "expired" in exchange(other, there, late)[1]
