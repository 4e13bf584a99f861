"""Sign-up, activation, and password reset."""

import re
from concurrent.futures import ThreadPoolExecutor

from tests.cases import cases
from tests.solutions.guide.visitors import Guide, Person, refused

LIFETIME = 86400  # seconds: of a reset token


class TestSignUp:
    @cases("body", [b"", b"[]", b'"ann@example.com"', b"7", b"null"])
    def test_refuses_a_body_without_fields(self, guide: Guide, body: bytes) -> None:
        json = {"Content-Type": "Application/JSON; charset=utf-8"}
        refused(guide.solution.post("/api/user/signup", content=body, headers=json), 400, "email")


class TestResetPassword:
    def forgotten(self, guide: Guide, email: str | None = None) -> tuple[str, str]:
        """Request a reset for a person; return the address and the mailed token."""
        email = email or guide.person().email
        assert guide.visitor().post("/api/forgotten", email=email).status_code == 200
        return email, guide.link(email).partition("?rt=")[2]

    def test_a_refused_password_does_not_extend_the_lifetime_of_the_token(self, guide: Guide) -> None:
        _, token = self.forgotten(guide)
        guide.lab.clock.advance(seconds=LIFETIME - 1)
        refused(guide.visitor().post("/api/resetPassword", resetToken=token, password="short"), 400)
        guide.lab.clock.advance(seconds=2)
        answer = guide.visitor().post("/api/resetPassword", resetToken=token, password="long enough")
        refused(answer, 400, "unknown")

    def test_of_concurrent_requests_with_one_token_one_sets_the_password(self, guide: Guide) -> None:
        email, token = self.forgotten(guide)
        passwords = [f"password {each}" for each in range(4)]

        def reset(password: str) -> int:
            body = {"resetToken": token, "password": password}
            return guide.solution.post("/api/resetPassword", json=body).status_code

        with ThreadPoolExecutor(len(passwords)) as pool:
            statuses = list(pool.map(reset, passwords))
        assert sorted(statuses) == [200, 400, 400, 400]
        login = {"email": email, "password": passwords[statuses.index(200)]}
        assert guide.visitor().post("/api/session/login", **login).status_code == 303

    def test_all_tokens_differ_and_no_record_shows_one(self, guide: Guide, ann: Person) -> None:
        one, other = self.forgotten(guide, ann.email)[1], self.forgotten(guide, ann.email)[1]
        assert one != other
        shown = guide.lab.journal.canonical()
        for token in (one, other):
            assert token not in shown

    def test_of_concurrent_requests_with_all_tokens_of_a_person_one_sets_the_password(
        self, guide: Guide
    ) -> None:
        email, first = self.forgotten(guide)
        tokens = [first, *(self.forgotten(guide, email)[1] for _ in range(3))]

        def reset(token: str) -> int:
            body = {"resetToken": token, "password": f"password of {token}"}
            return guide.solution.post("/api/resetPassword", json=body).status_code

        with ThreadPoolExecutor(len(tokens)) as pool:
            statuses = list(pool.map(reset, tokens))
        assert sorted(statuses) == [200, 400, 400, 400]
        login = {"email": email, "password": f"password of {tokens[statuses.index(200)]}"}
        assert guide.visitor().post("/api/session/login", **login).status_code == 303


class TestPageOfTheLink:
    def test_asks_for_the_new_password(self, guide: Guide, ann: Person) -> None:
        guide.visitor().post("/api/forgotten", email=ann.email)
        page = guide.visitor().follow_mail(ann.email)
        assert page.status_code == 200
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert 'type="password"' in page.text
        assert '"/api/resetPassword"' in page.text

    def test_is_independent_of_the_token_and_loads_nothing_from_outside(self, guide: Guide) -> None:
        page = guide.visitor().get('/reset?rt="><script>alert(1)</script>')
        assert page.text == guide.visitor().get("/reset").text
        assert not re.search(r"(src|href)=|https?://", page.text)
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["Referrer-Policy"] == "no-referrer"
