"""Logging in, and who one is then."""

from tests.cases import cases
from tests.solutions.guide.visitors import FOLDER, PASSWORD, Guide, cookie, refused


class TestLogin:
    def test_gives_the_cookie_and_leads_to_the_user(self, guide: Guide) -> None:
        person = guide.person()
        answer = person.log_in()
        assert (answer.status_code, answer.headers["Location"]) == (303, "/api/session/user")
        pair, attributes = cookie(answer)
        assert pair == f"sid={person.sid}"
        assert person.sid
        assert attributes == {"path": "/", "httponly": "", "secure": "", "samesite": "Lax"}
        assert person.browser.get(guide.url("/api/session/user")).json()["email"] == person.email

    @cases(
        "body",
        [
            {},
            {"email": "nobody@example.com", "password": PASSWORD},
            {"email": "ann@example.com"},
            {"password": PASSWORD},
            {"email": {"a": 1}, "password": [PASSWORD]},
        ],
    )
    def test_refuses_who_does_not_know_address_and_password(
        self, guide: Guide, body: dict[str, object]
    ) -> None:
        refused(guide.visitor().post("/api/session/login", **body), 401)

    def test_tells_no_difference_between_an_unknown_address_and_a_wrong_password(self, guide: Guide) -> None:
        person = guide.person()
        wrong = person.log_in("battery staple")
        unknown = person.post("/api/session/login", email="nobody@example.com", password="battery staple")
        refused(wrong, 401)
        assert wrong.json() == unknown.json()

    def test_clears_the_cookie_before_it_checks(self, guide: Guide) -> None:
        person = guide.member()
        answer = person.log_in("battery staple")
        refused(answer, 401)
        pair, attributes = cookie(answer)
        assert (pair, attributes["path"], attributes["max-age"]) == ("sid=", "/", "0")
        assert person.sid == ""
        refused(person.get("/api/session/user"), 400)


class TestUser:
    def test_is_the_one_who_is_logged_in(self, guide: Guide) -> None:
        person = guide.member()
        answer = person.get("/api/session/user")
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache")
        user = answer.json()
        assert set(user) == {"id", "email", "name", "status", "creation_date"}
        assert (user["email"], user["name"], user["status"]) == (person.email, "Ann", 1)

    @cases("header", [None, "", "sid=", "sid=nonsense", "other=1; sid", "sid=a.b.c; sid=d"])
    def test_needs_a_valid_session(self, guide: Guide, header: str | None) -> None:
        answer = guide.visitor().get("/api/session/user", headers={"Cookie": header} if header else {})
        refused(answer, 400, "no valid session")
        assert answer.headers["Cache-Control"] == "no-cache"

    def test_finds_the_cookie_among_others(self, guide: Guide) -> None:
        sid = guide.member().sid
        for form in ("sid={}", "a=b; sid={}; c=d", "xsid=no;sid={}", "a=b=c;  sid={}"):
            answer = guide.visitor().get("/api/session/user", headers={"Cookie": form.format(sid)})
            assert answer.status_code == 200, form
        for form in ("xsid={}", "sid2={}", "SID={}", "si={}", "a=sid={}", "sid = {}"):
            answer = guide.visitor().get("/api/session/user", headers={"Cookie": form.format(sid)})
            assert answer.status_code == 400, form

    def test_is_nobody_once_the_token_has_expired(self, guide: Guide) -> None:
        person = guide.member()
        guide.lab.clock.advance(seconds=7199)
        assert person.get("/api/session/user").status_code == 200
        guide.lab.clock.advance(seconds=1)
        refused(person.get("/api/session/user"), 400)

    def test_is_nobody_once_the_account_is_deleted(self, guide: Guide) -> None:
        person = guide.member()
        guide.solution.User.deleteUser(id=person.id)
        refused(person.get("/api/session/user"), 400)

    def test_is_nobody_in_another_solution(self, guide: Guide) -> None:
        sid = guide.member().sid
        other = guide.lab.solution("other-guide", path=FOLDER)
        refused(other.get("/api/session/user", headers={"Cookie": f"sid={sid}"}), 400)
