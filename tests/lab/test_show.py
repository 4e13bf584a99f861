"""Records as a DataFrame, and the views of a lab whose names and texts are markup."""

from __future__ import annotations

from typing import Any

from labkit import Lab
from labkit.control.journal import Entry
from labkit.lab.show import entries_frame
from tests.cases import case

MARKUP, MOVING = (
    "<script>alert(1)</script>",
    "\x1b[31m\u202e",
)  # the second colours a terminal and turns its text


def test_a_frame_has_a_row_for_each_record() -> None:
    detail = {"reason": "unknown path"}
    request = Entry(1, 100_000_000, "request", "p", 1, "GET /", None, 404, 12, detail)
    event = Entry(2, 100_000_000, "event", "p", 2, "data_in", 1, None, None, None)
    frame = entries_frame([request, event])
    assert list(frame.columns) == ["time", "kind", "actor", "summary", "status", "size", "cause", "detail"]
    assert frame.index.tolist() == [1, 2]
    assert frame.time.map(str).tolist() == ["1970-01-01 00:01:40+00:00"] * 2
    assert [str(frame[name].dtype) for name in ("status", "size", "cause")] == ["Int64"] * 3
    assert frame.status.iloc[0] == 404
    assert frame.status.isna().tolist() == [False, True]
    assert frame.cause.iloc[1] == 1
    assert frame.detail.iloc[0] == detail


def test_an_empty_frame_has_its_columns() -> None:
    frame = entries_frame([])
    assert frame.empty
    assert "summary" in frame
    assert str(frame.time.dtype).startswith("datetime64")


def test_no_view_shows_the_markup_of_others_as_its_own(lab: Lab) -> None:
    lamp = lab.product("lamp", resources={"power": "string"})
    acme = lab.solution("acme", products=[lamp])
    echo = "print(request.parameters.a) return request.parameters.a"
    acme.route("GET", "/x", lua=echo)
    acme.get("/x", params={"a": MARKUP + MOVING})
    acme.Email.send(to="a@b.de", subject=MARKUP + MOVING, text=MARKUP, html=MARKUP)
    acme.User.createUser(email="m@b.de", name=MARKUP, password="a password 1X")
    google = lab.provider("google", people=[{"id": "p1", "name": MARKUP, "email": "p@b.de"}])
    device = lamp.device("d-1").activate()
    device.write(power=MARKUP + MOVING)
    lab.faults.add("POST /onep:v1/stack/alias", name=MARKUP, status=503, first=1)
    lab.settle()
    views: dict[str, Any] = {
        "lab": lab,
        "mailbox": lab.mailbox,
        "mail": lab.mailbox[0],
        "journal": lab.journal,
        "faults": lab.faults,
        "messaging": lab.messaging,
        "handsets": lab.handsets,
        "provider": google,
        "person": google.people.get("p1"),
        "product": lamp,
        "device": device,
        "solution": acme,
        "values": lab.sql("select value from datapoint"),
        "users": lab.sql("select name from user"),
    }
    for name, view in views.items():
        with case(name):
            assert MARKUP not in getattr(view, "_repr_html_", str)()
            if name not in ("values", "users"):  # pandas shows values as they are
                assert not {*MOVING} & {*repr(view)} & {"\x1b", "\u202e"}
