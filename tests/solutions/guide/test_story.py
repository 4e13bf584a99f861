"""Journal records of one person's use of the solution."""

from tests.solutions.guide.visitors import PASSWORD, Guide


def test_no_record_shows_a_password_a_code_or_a_token(guide: Guide) -> None:
    person = guide.member()
    code = guide.link(person.email).rpartition("/")[2]
    assert len(code) == 40
    person.get(f"/api/verfiy/{code}")  # an unknown path
    person.get(f"/api/verify/%{ord(code[0]):02x}{code[1:]}")
    sid = person.sid
    person.post("/api/forgotten", email=person.email)
    token = guide.link(person.email).partition("?rt=")[2]
    person.get(f"/reset?rt={token}")
    person.post("/api/resetPassword", resetToken=token, password="battery staple")
    shown = guide.lab.journal.canonical()
    assert "/api/resetPassword" in shown
    assert "GET /api/verify/***" in shown
    for secret in (sid, code, code[1:], token, PASSWORD, "battery staple"):
        assert secret not in shown
