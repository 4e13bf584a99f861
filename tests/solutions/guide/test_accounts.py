"""Signing up, activating, and a new password for who forgot the old one."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cases import cases
from tests.solutions.guide.visitors import PASSWORD, Guide, Person, refused

LIFETIME = 86400  # seconds: of a reset token


class TestSignUp:
    def test_sends_a_mail_with_a_link_to_this_solution(self, guide: Guide) -> None:
        email = guide.email()
        answer = guide.visitor().post("/api/user/signup", email=email, name="Ann", password=PASSWORD)
        assert answer.status_code == 200
        (mail,) = guide.lab.mailbox.find(to=email)
        assert mail.to == (email,)
        assert mail.sender == f"no-reply@{guide.solution.domain}"
        assert re.fullmatch(re.escape(guide.url("/api/verify/")) + r"[A-Za-z0-9]+", mail.links[0])

    @cases("missing", ["email", "name", "password"])
    def test_tells_what_is_missing(self, guide: Guide, missing: str) -> None:
        body: dict[str, object] = {"email": guide.email(), "name": "Ann", "password": PASSWORD}
        del body[missing]
        refused(guide.visitor().post("/api/user/signup", **body), 400, missing)

    def test_tells_that_an_address_is_taken_in_any_letter_case(self, guide: Guide) -> None:
        email = guide.person().email
        again = {"email": email.upper(), "name": "Eve", "password": PASSWORD}
        answer = guide.visitor().post("/api/user/signup", **again)
        error = guide.solution.User.createUser(**again)
        refused(answer, error["status"], error["message"])
        assert len(guide.lab.mailbox.find(to=email)) == 1

    @cases("body", [b"", b"[]", b'"ann@example.com"', b"7", b"null"])
    def test_refuses_a_body_without_fields(self, guide: Guide, body: bytes) -> None:
        json = {"Content-Type": "Application/JSON; charset=utf-8"}
        refused(guide.solution.post("/api/user/signup", content=body, headers=json), 400, "email")

    @cases(
        "kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/json-seq", "text/json"]
    )
    @cases("path", ["/api/user/signup", "/api/forgotten", "/api/resetPassword", "/api/session/login"])
    def test_takes_nothing_but_json_for_json(self, guide: Guide, path: str, kind: str | None) -> None:
        headers = {"Content-Type": kind} if kind else {}
        body = b'{"email": "ann@example.com", "name": "Ann", "password": "correct horse", "resetToken": "x"}'
        answer = guide.solution.post(path, content=body, headers=headers)
        refused(answer, 415, "application/json")
        assert "Set-Cookie" not in answer.headers

    def test_does_not_hand_on_fields_of_other_names(self, guide: Guide) -> None:
        person = guide.visitor()
        email = guide.email()
        given = {"email": email, "name": "Ann", "password": PASSWORD, "status": 1}
        assert person.post("/api/user/signup", **given).status_code == 200
        refused(person.post("/api/session/login", email=email, password=PASSWORD), 401)


class TestVerify:
    def test_the_link_activates_the_account_once(self, guide: Guide) -> None:
        visitor, email = guide.visitor(), guide.email()
        visitor.post("/api/user/signup", email=email, name="Ann", password=PASSWORD)
        login = {"email": email, "password": PASSWORD}
        refused(visitor.post("/api/session/login", **login), 401)
        answer = visitor.follow_mail(email)
        assert (answer.status_code, answer.json()) == (
            200,
            {"message": "The account is active: you can log in."},
        )
        assert visitor.post("/api/session/login", **login).status_code == 303
        refused(visitor.follow_mail(email), 401)

    def test_to_look_at_the_link_with_head_activates_nothing(self, guide: Guide) -> None:
        visitor, email = guide.visitor(), guide.email()
        visitor.post("/api/user/signup", email=email, name="Ann", password=PASSWORD)
        looked = visitor.browser.request("HEAD", guide.link(email))
        assert (looked.status_code, looked.headers["Allow"]) == (405, "GET")
        assert visitor.follow_mail(email).status_code == 200

    def test_refuses_an_unknown_code(self, guide: Guide) -> None:
        refused(guide.visitor().get("/api/verify/nonsense"), 401, "not activated: ")


class TestForgotten:
    def test_sends_a_link_with_a_token(self, guide: Guide, ann: Person) -> None:
        assert guide.visitor().post("/api/forgotten", email=ann.email).status_code == 200
        assert re.fullmatch(re.escape(guide.url("/reset?rt=")) + r"[A-Za-z0-9]{40}", guide.link(ann.email))

    @cases("body", [{}, {"email": ""}, {"email": 7}, {"email": ["ann@example.com"]}])
    def test_refuses_a_request_without_email(self, guide: Guide, body: dict[str, object]) -> None:
        refused(guide.visitor().post("/api/forgotten", **body), 400, "email is missing")

    @cases("address", ["", "%", "_", "erson", "@example.com"])
    def test_takes_nobody_for_someone_whose_address_only_contains_it(
        self, guide: Guide, ann: Person, address: str
    ) -> None:
        before = len(guide.lab.mailbox)
        near = address + ann.email[1:]  # their address but for the first letter
        for email in (near, address):
            answer = guide.visitor().post("/api/forgotten", email=email)
            refused(answer, 404 if email else 400)
        assert len(guide.lab.mailbox) == before

    def test_finds_an_address_in_any_letter_case_and_writes_to_the_one_that_was_verified(
        self, guide: Guide, ann: Person
    ) -> None:
        assert guide.visitor().post("/api/forgotten", email=ann.email.upper()).status_code == 200
        assert guide.lab.mailbox[-1].to == (ann.email,)

    @cases(
        "form",
        [
            "jürgen{}@müller.example",
            "JÜRGEN{}@MÜLLER.EXAMPLE",
            "ju\u0308rgen{}@mu\u0308ller.example",
            "jürgen{}@xn--mller-kva.example",
        ],
    )
    def test_finds_whomever_a_login_finds(self, guide: Guide, form: str) -> None:
        visitor, number = guide.visitor(), guide.email().partition("@")[0]
        signup = {"email": f"Jürgen{number}@Müller.example", "name": "Jürgen", "password": PASSWORD}
        assert visitor.post("/api/user/signup", **signup).status_code == 200
        kept = guide.lab.mailbox[-1].to[0]
        assert visitor.follow_mail(kept).status_code == 200
        address = form.format(number)
        assert visitor.post("/api/session/login", email=address, password=PASSWORD).status_code == 303
        assert visitor.post("/api/forgotten", email=address).status_code == 200
        assert guide.lab.mailbox[-1].to == (kept,)


class TestResetPassword:
    def forgotten(self, guide: Guide, email: str | None = None) -> tuple[str, str]:
        """Somebody who forgot the password: their address, and the token that they were sent."""
        email = email or guide.person().email
        assert guide.visitor().post("/api/forgotten", email=email).status_code == 200
        return email, guide.link(email).partition("?rt=")[2]

    def test_sets_the_password_and_uses_the_token_up(self, guide: Guide) -> None:
        visitor = guide.visitor()
        email, token = self.forgotten(guide)
        answer = visitor.post("/api/resetPassword", resetToken=token, password="battery staple")
        assert (answer.status_code, answer.json()["email"]) == (200, email)
        assert "status" not in answer.json()
        refused(visitor.post("/api/resetPassword", resetToken=token, password="third one"), 400, "unknown")
        refused(visitor.post("/api/session/login", email=email, password=PASSWORD), 401)
        login = visitor.post("/api/session/login", email=email, password="battery staple")
        assert login.status_code == 303

    def test_a_password_that_is_refused_does_not_use_the_token_up(self, guide: Guide) -> None:
        visitor = guide.visitor()
        _, token = self.forgotten(guide)
        refused(visitor.post("/api/resetPassword", resetToken=token, password="short"), 400)
        answer = visitor.post("/api/resetPassword", resetToken=token, password="long enough")
        assert answer.status_code == 200

    def test_a_refused_password_does_not_lengthen_the_life_of_the_token(self, guide: Guide) -> None:
        _, token = self.forgotten(guide)
        guide.lab.clock.advance(seconds=LIFETIME - 1)
        refused(guide.visitor().post("/api/resetPassword", resetToken=token, password="short"), 400)
        guide.lab.clock.advance(seconds=2)
        answer = guide.visitor().post("/api/resetPassword", resetToken=token, password="long enough")
        refused(answer, 400, "unknown")

    def test_of_many_who_come_with_one_token_at_once_one_sets_the_password(self, guide: Guide) -> None:
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

    @cases(
        ("body", "missing"),
        [
            ({}, "resetToken"),
            ({"password": "long enough"}, "resetToken"),
            ({"resetToken": "", "password": "long enough"}, "resetToken"),
            ({"resetToken": {"a": 1}, "password": "long enough"}, "resetToken"),
            ({"resetToken": "abc"}, "password"),
            ({"resetToken": "abc", "password": ""}, "password"),
        ],
    )
    def test_tells_what_is_missing(self, guide: Guide, body: dict[str, object], missing: str) -> None:
        refused(guide.visitor().post("/api/resetPassword", **body), 400, f"{missing} is missing")

    @cases("token", ["nonsense", "x" * 500, "-----BEGIN PUBLIC KEY-----", "é ü", "\n"])
    def test_refuses_an_unknown_token(self, guide: Guide, token: str) -> None:
        answer = guide.visitor().post("/api/resetPassword", resetToken=token, password="long enough")
        refused(answer, 400, "unknown")

    def test_takes_no_other_key_of_the_keystore_for_a_token(self, guide: Guide) -> None:
        guide.solution.Keystore.set(key="dailyCount", value="1")
        guide.solution.Keystore.set(key="a" * 40, value="1")
        for token in ("dailyCount", "a" * 40, *guide.solution.Keystore.list()["keys"]):
            answer = guide.visitor().post("/api/resetPassword", resetToken=token, password="long enough")
            refused(answer, 400, "unknown")

    @pytest.mark.parametrize(("after", "status"), [(-1, 200), (0, 200), (1, 400)])
    def test_a_token_lives_86400_seconds_and_at_the_last_of_them(
        self, guide: Guide, after: int, status: int
    ) -> None:
        _, token = self.forgotten(guide)
        guide.lab.clock.advance(seconds=LIFETIME + after)
        answer = guide.visitor().post("/api/resetPassword", resetToken=token, password="long enough")
        assert answer.status_code == status, answer.text

    def test_each_token_is_another_and_no_record_shows_one(self, guide: Guide, ann: Person) -> None:
        one, other = self.forgotten(guide, ann.email)[1], self.forgotten(guide, ann.email)[1]
        assert one != other
        shown = guide.lab.journal.canonical()
        for token in (one, other):
            assert token not in shown

    def test_is_kept_with_the_users_id_for_a_day(self, guide: Guide) -> None:
        email, token = self.forgotten(guide)
        (user,) = guide.solution.User.listUsers(filter=f"email::eq::{email}")
        key = f"reset:{token}"
        assert guide.solution.Keystore.get(key=key) == {"value": str(user["id"])}
        assert guide.solution.Keystore.command(key=key, command="ttl") == {"value": LIFETIME}

    def test_no_token_of_a_person_outlives_the_first_that_is_used(self, guide: Guide) -> None:
        email, first = self.forgotten(guide)
        tokens = [first, *(self.forgotten(guide, email)[1] for _ in range(2))]
        _, others = self.forgotten(guide)
        visitor = guide.visitor()
        refused(visitor.post("/api/resetPassword", resetToken=tokens[1], password="short"), 400)
        assert (
            visitor.post("/api/resetPassword", resetToken=tokens[1], password="long enough").status_code
            == 200
        )
        _, later = self.forgotten(guide, email)
        for token in tokens:
            refused(
                visitor.post("/api/resetPassword", resetToken=token, password="not this one"), 400, "unknown"
            )
        keys = str(guide.solution.Keystore.list()["keys"])
        assert not any(token in keys for token in tokens)
        for token in (later, others):
            answer = visitor.post("/api/resetPassword", resetToken=token, password="long enough")
            assert answer.status_code == 200

    def test_of_all_tokens_of_a_person_at_once_one_sets_the_password(self, guide: Guide) -> None:
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


class TestThePageOfTheLink:
    def test_asks_for_the_new_password(self, guide: Guide, ann: Person) -> None:
        guide.visitor().post("/api/forgotten", email=ann.email)
        page = guide.visitor().follow_mail(ann.email)
        assert page.status_code == 200
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert 'type="password"' in page.text
        assert '"/api/resetPassword"' in page.text

    def test_is_the_same_whatever_the_token_and_needs_nothing_from_outside(self, guide: Guide) -> None:
        page = guide.visitor().get('/reset?rt="><script>alert(1)</script>')
        assert page.text == guide.visitor().get("/reset").text
        assert not re.search(r"(src|href)=|https?://", page.text)
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["Referrer-Policy"] == "no-referrer"
