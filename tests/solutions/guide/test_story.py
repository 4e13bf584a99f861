"""One person's way through the solution, from signing up to a new password."""

from tests.solutions.guide.visitors import PASSWORD, Guide, refused


def test_from_signing_up_to_a_new_password(guide: Guide) -> None:
    email, visitor = guide.email(), guide.visitor()
    info = f"/api/user/info/{email}"
    assert visitor.get(info).json() == {"message": f"{email} is available"}
    assert visitor.post("/api/user/signup", email=email, name="Ann", password=PASSWORD).status_code == 200
    assert visitor.get(info).json() == {"message": f"{email} is already taken"}
    refused(visitor.post("/api/session/login", email=email, password=PASSWORD), 401)
    assert visitor.follow_mail(email).status_code == 200

    assert visitor.post("/api/session/login", email=email, password=PASSWORD).status_code == 303
    assert visitor.get("/api/session/user").json()["email"] == email
    assert visitor.get(info).json() == {"email": email}

    assert visitor.post("/api/forgotten", email=email).status_code == 200
    assert visitor.follow_mail(email).status_code == 200
    token = visitor.browser.page.url.params["rt"]
    reset = {"resetToken": token, "password": "battery staple"}
    assert visitor.post("/api/resetPassword", **reset).status_code == 200

    refused(visitor.get("/api/session/user"), 400)  # the old password's session went with it
    refused(visitor.post("/api/session/login", email=email, password=PASSWORD), 401)
    refused(visitor.post("/api/resetPassword", **reset), 400)
    login = {"email": email, "password": "battery staple"}
    answer = visitor.browser.request("POST", guide.url("/api/session/login"), json=login)
    assert (answer.status_code, answer.json()["email"]) == (200, email)  # the browser went where 303 leads


def test_no_record_of_it_shows_a_password_a_code_or_a_token(guide: Guide) -> None:
    person = guide.member()
    code = guide.link(person.email).rpartition("/")[2]
    assert len(code) == 40
    person.get(f"/api/verfiy/{code}")  # a path that is not there
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
