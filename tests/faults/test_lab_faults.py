"""The list of a lab's faults: handles, tables, names, reset, lab.yaml, and faults of providers."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import Lab, LabError, SettingsError

ALIAS = "/onep:v1/stack/alias"


def test_the_table_of_faults(lab: Lab) -> None:
    lab.faults.add(f"POST {ALIAS}", status=503, first=2, product="thermostat", identity=["t-*", "x"])
    lab.faults.add("User.listUsers", drop=["creation_date", "name"], chance=0.25, name="odd <users>")
    frame = lab.faults.frame()
    assert list(frame.index) == ["fault 1", "odd <users>"]
    assert list(frame.loc["fault 1"]) == [
        f"POST {ALIAS}",
        "status 503",
        "first 2",
        "product thermostat, identity t-* or x",
        0,
        0,
        "hand",
    ]
    assert "odd &lt;users&gt;" in lab.faults._repr_html_()
    assert repr(lab.faults).splitlines()[1] == (
        "odd <users>: User.listUsers: drop creation_date, name, chance 0.25; hit 0 of 0"
    )
    assert repr(lab.faults["fault 1"]).startswith(f"<fault 'fault 1': POST {ALIAS}: status 503, first 2")
    assert "status 503" in lab.faults["fault 1"]._repr_html_()
    assert [each.name for each in lab.faults] == lab.faults._ipython_key_completions_()


def test_names(lab: Lab) -> None:
    first = lab.faults.add("GET /x", status=500)
    second = lab.faults.add("GET /x", status=500, name="fault 3")
    third = lab.faults.add("GET /x", status=500)
    assert (first.name, second.name, third.name) == ("fault 1", "fault 3", "fault 4")
    with pytest.raises(LabError, match=r"fault 'fault 3' is there already; .*lab.faults.remove\('fault 3'\)"):
        lab.faults.add("GET /x", status=500, name="fault 3")
    first.remove()
    with pytest.raises(LabError, match="no fault 'fault 1', there are: fault 3, fault 4"):
        lab.faults.remove("fault 1")
    with pytest.raises(LabError, match="no fault 'fault 1'"):
        _ = first.hits
    assert lab.faults.add("GET /x", status=500).name not in ("fault 3", "fault 4")
    lab.faults.clear()
    assert (len(lab.faults), repr(lab.faults)) == (0, "<no faults>")


@pytest.mark.parametrize(
    ("where", "more", "expected"),
    [
        (f"POST {ALIAS}", {"product": "therm"}, "no product 'therm', there are: thermostat"),
        ("GET /x", {"solution": ["acme", "acne"]}, "no solution 'acne', there are: acme"),
        ("GET /x", {"site": "acme.apps"}, "no site 'acme.apps', there are: google.social"),
        ("Usr.listUsers", {}, "no service 'Usr', there are: Keystore, User"),
        ("User.listUser", {}, "no operation of User 'listUser', there are: activateUser"),
        ("Nothing.*", {}, "no service 'Nothing'"),
    ],
)
def test_an_unknown_site_is_an_error_with_the_known_ones(
    lab: Lab, where: str, more: dict[str, object], expected: str
) -> None:
    with pytest.raises(LabError, match=expected):
        lab.faults.add(where, status=500, **more)  # type: ignore[arg-type]
    assert len(lab.faults) == 0


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("devise datapoint", "no service with events 'devise', there are: "),
        ("device datapoints", "no event of device 'datapoints', there are: datapoint"),
        ("device2 event_in", "no event of device2 'event_in', there are: connect, content_in, data_in, "),
    ],
)
def test_an_event_of_no_solution_or_device_is_an_error(lab: Lab, where: str, expected: str) -> None:
    with pytest.raises(LabError, match=expected):
        lab.faults.add(where, lost=True)
    lab.faults.add("*  *".replace("  ", " "), lost=True)
    lab.faults.add("DEVICE DataPoint", lost=True)
    lab.faults.add("timer timer", lost=True)
    assert len(lab.faults) == 3


def test_a_prepared_fault_waits_for_what_it_names(recwarn: pytest.WarningsRecorder) -> None:
    with Lab(seed=7) as lab:
        late = lab.faults.prepare(f"POST {ALIAS}", product="lamp", identity="l-1", status=503, name="later")
        called = lab.faults.prepare("Twilio.send", solution="home", status=500)
        lab.faults.prepare("POST /onep:v1/stack/alis", status=500)
        assert called.info.warnings == (
            "fault 'fault 2' at 'Twilio.send': no solution 'home', there are: none",
        )
        assert "no product 'lamp', there are: none" in late.info.warnings[0]
        with pytest.raises(LabError, match="fault 'later' is there already"):
            lab.faults.prepare("provider later token", does="down", name="later")
        with pytest.raises(SettingsError, match="fault at 'POST /x': cut: expected 'before'"):
            lab.faults.prepare("POST /x", cut="sometimes")  # type: ignore[arg-type]
        lamp = lab.product("lamp", resources={"message": "string"})
        home = lab.solution("home")
        lab.service("Twilio", send=lambda to: {"sent": to})
        answers = [
            lamp.device(each).activate().request("POST", ALIAS, data={"message": "x"})
            for each in ("l-1", "l-2")
        ]
        assert [each.status_code for each in answers] == [503, 204]
        assert home.call("Twilio", "send", {"to": "ann"})["status"] == 500
        assert (late.hits, called.hits, late.info.warnings) == (1, 1, ())
    assert [each for each in recwarn if issubclass(each.category, UserWarning)] == []


def test_a_fault_of_scripts_leaves_the_calls_of_cells_alone(lab: Lab) -> None:
    acme = lab.solution("acme")
    acme.route("GET", "/lua", lua='return Keystore.get{key = "a"}')
    acme.route("GET", "/python", lambda services: services.Keystore.get(key="a"))
    fault = lab.faults.add("Keystore.*", status=503, scripts=True)
    assert acme.Keystore.set(key="a", value="1") == {}
    assert (acme.Keystore.get(key="a"), fault.hits, fault.info.whom) == ({"value": "1"}, 0, "scripts")
    assert [acme.get(path).json()["status"] for path in ("/lua", "/python")] == [503, 503]
    assert fault.hits == 2


def test_an_unknown_argument_is_an_error(lab: Lab) -> None:
    with pytest.raises(SettingsError, match="fault at 'GET /x': cut: expected 'before', 'inside' or 'after'"):
        lab.faults.add("GET /x", cut="sometimes")  # type: ignore[arg-type]


def test_faults_of_a_service_made_in_a_cell(lab: Lab) -> None:
    acme = lab.solution("acme")
    with pytest.raises(LabError, match="no service 'Twilio'"):
        lab.faults.add("Twilio.send", status=500)
    lab.service("Twilio", send=lambda to: {"sent": to})
    lab.faults.add("Twilio.send", replace={"sent": "nobody"})
    assert acme.call("Twilio", "send", {"to": "ann"}) == {"sent": "nobody"}


def test_an_exhausted_fault_is_removed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labkit.faults.faults.MAX_FAULTS", 3)
    device = lab.product("thermostat").device("t-1").activate()
    lab.faults.add(f"POST {ALIAS}", status=500, first=1, name="once")
    for name in ("a", "b"):
        lab.faults.add("GET /nothing", status=500, name=name)
    with pytest.raises(LabError, match=r"expected at most 3 faults; remove some: lab.faults.clear\(\)"):
        lab.faults.add("GET /nothing", status=500, name="c")
    assert device.request("POST", ALIAS, data={"message": "x"}).status_code == 500
    lab.faults.add("GET /nothing", status=500, name="c")
    assert list(lab.faults.frame().index) == ["a", "b", "c"]


def test_a_reset_restores_the_faults_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        """
products: [{id: thermostat, resources: {message: {format: string}}}]
solutions: [{id: acme, products: [thermostat]}]
faults:
  - {name: busy, where: "POST /onep:v1/stack/alias", status: 503, first: 1, product: thermostat}
  - {where: provider google token, does: slow}
  - {where: User.listUsers, replace: {"*": null}, solution: acme}
  - {where: device datapoint, late: 30, every: 10, identity: [t-001]}
"""
    )
    with Lab(seed=7, config=file) as lab:
        device = lab.product("thermostat").device("t-1").activate()
        assert [device.request("POST", ALIAS, data={"message": "x"}).status_code for _ in range(2)] == [
            503,
            204,
        ]
        lab.faults.add("GET /x", status=500)
        lab.faults.remove("fault 2")
        assert list(lab.faults.frame()["origin"]) == ["settings", "settings", "settings", "hand"]
        lab.reset()
        assert list(lab.faults.frame().index) == ["busy", "fault 2", "fault 3", "fault 4"]
        assert list(lab.faults.frame()["hits"]) == [0, 0, 0, 0]
        device = lab.product("thermostat").device("t-1").activate()
        assert device.request("POST", ALIAS, data={"message": "x"}).status_code == 503
        assert lab.provider("google").faults == ["slow at token"]


def test_an_impossible_fault_of_the_settings_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"faults\[1\]: no product 'lamp', there are: none"):
        Lab(
            seed=7,
            faults=[
                {"where": "GET /x", "status": 500},
                {"where": "GET /x", "status": 500, "product": "lamp"},
            ],
        )
    with pytest.raises(SettingsError, match=r"faults\[0\]: fault|faults\[0\]: no fault 'explode'"):
        Lab(seed=7, faults=[{"where": "provider google token", "does": "explode"}])


def test_two_labs_share_nothing() -> None:
    with Lab(seed=7) as one, Lab(seed=7) as other:
        one.faults.add("GET /x", status=500)
        assert (len(one.faults), len(other.faults)) == (1, 0)


def test_a_story_with_faults_replays() -> None:
    def play() -> str:
        with Lab(seed=7) as lab:
            device = lab.product("thermostat", resources={"message": "string"}).device("t-1").activate()
            lab.solution("acme", products=["thermostat"]).on(
                "device", "datapoint", lua="Keystore.set{key='a', value='b'}"
            )
            lab.faults.add(f"POST {ALIAS}", status=503, chance=0.3)
            lab.faults.add("device datapoint", late=7, chance=0.3)
            lab.faults.add("Keystore.*", status=500, chance=0.3)
            for _ in range(30):
                device.request("POST", ALIAS, data={"message": "x"})
                lab.clock.advance(1)
            lab.clock.advance(10)
            return lab.journal.canonical()

    first = play()
    assert '"kind": "fault"' in first
    assert first == play()


# --- providers --------------------------------------------------------------------------------------------


def test_faults_of_providers_are_listed(lab: Lab) -> None:
    google = lab.provider("google")
    google.fault("Slow")
    lab.messaging.fault("rate limited")
    lab.faults.add("provider google userinfo", does="server error", every=2, name="mine")
    assert list(lab.faults.frame()["where"]) == [
        "provider google token",
        "provider messaging request",
        "provider google userinfo",
    ]
    assert google.faults == ["slow at token", "server error at userinfo"]
    assert lab.messaging.faults == ["rate limited at request"]
    url = google.endpoints["userinfo"]
    assert [lab.browser().get(url).status_code for _ in range(4)] == [401, 500, 401, 500]
    hits = lab.journal.select("fault", "social/google")
    requests = [each for each in lab.journal.select("request", "social/google") if each.status == 500]
    assert [each.cause for each in hits] == [each.sequence for each in requests]
    assert lab.faults["mine"].hits == 2
    google.fault("down", "userinfo")
    lab.faults.remove("mine")
    assert google.faults == ["slow at token", "down at userinfo"]


@pytest.mark.parametrize(
    ("where", "does", "expected"),
    [
        ("provider goggle token", "slow", "no provider 'goggle', there are: google"),
        ("provider google token", "sloow", "no fault 'sloow', there are: deny"),
        ("provider google token", "deny", "'deny' cannot hit 'token', but: authorize"),
        ("provider google", "slow", "expected a step, too: provider google token"),
    ],
)
def test_an_unknown_fault_of_a_provider_is_an_error(lab: Lab, where: str, does: str, expected: str) -> None:
    with pytest.raises(LabError, match=expected):
        lab.faults.add(where, does=does)


def test_faults_of_a_custom_provider(lab: Lab) -> None:
    lab.provider("acme", protocol="oauth2")
    lab.faults.add("provider acme authorize", does="deny", chance=0.5, first=3)
    assert lab.provider("acme").faults == ["deny at authorize"]
