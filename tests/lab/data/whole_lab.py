"""A lab with something in each table of its data file, the script that stores one, and what is then read from it.

`python -m tests.lab.data.whole_lab NAME` writes `lab-NAME.db` and `lab-NAME.json` beside this file: the data file, and
what `contents` has to return for it in every later version, or more. Write a pair, named for the next release, when
`labkit.storage.upgrades.VERSION` changes, and never change it once that is released.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit import Credentials, Lab, Product, Solution

FOLDER = Path(__file__).parent
PASSWORD = "correct horse battery"
CALLBACK = "https://app.example.com/back"
BINDING = ("identity", "endpoint", "binding_type", "address", "tags")
RESOURCES: Any = {"temperature": "number", "target": {"format": "number", "settable": True}}


def whole_lab(data: Path, **settings: Any) -> tuple[Lab, dict[str, Product], Solution]:
    """Open a lab on a data file, with the products and solutions of the stored one. settings: further ones of Lab."""
    lab = Lab(seed=7, data=str(data), passwords={"memory": 8, "passes": 1}, **settings)
    products = {
        "thermostat": lab.product("thermostat", resources=RESOURCES),
        "lamp": lab.product("lamp", resources={"level": "number"}, auth="password"),
    }
    weather = lab.solution("weather")
    weather.publish(operations=[{"name": "report"}])
    weather.on("interface", "report", lua="return {sunny = true}")
    acme = lab.solution("acme", products=list(products.values()), services={"Notify": lab.messaging.account})
    acme.on("device", "datapoint", lua='Keystore.set({key = "last", value = data.value[2]})')
    acme.subscribe(weather, quota={"calls_daily": 5})
    return lab, products, acme


def fill(lab: Lab, products: dict[str, Product], acme: Solution) -> dict[str, Any]:
    """Store something of each kind. Returns the secrets that their owners keep."""
    thermostat, lamp = products["thermostat"], products["lamp"]
    thermostat.allow("t-900")
    thermostat.content.add("firmware-2", b"\x00\x01\x02" * 300, "application/octet-stream", "the second")
    thermostat.device("t-002").activate()
    thermostat.lock("t-002")
    devices = {"t-001": thermostat.device("t-001").activate(), "l-001": lamp.device("l-001").activate()}
    devices["t-001"].write(temperature=21.5)
    devices["l-001"].write(level=3)
    lab.settle()
    lab.clock.advance(hours=30)
    acme.Device2.setIdentityState(identity="t-001", pid="thermostat", target=19)
    acme.Device2.addGatewayResource(pid="lamp", alias="colour", format="string")
    tag = {"name": "room", "value": "hall"}
    acme.Device2.addIdentityTag(identity="t-001", pid="thermostat", tags=[tag])
    acme.Tsdb.write(metrics={"temperature": 21.5, "state": "on"}, tags={"sn": "t-001"})
    acme.Timeseries.write(query='temperature,identifier=t-001 value=21.5,state="on"')
    acme.Keystore.command(command="rpush", key="list", args=["a", "b"])
    acme.Config.setParameters(service="Keystore", parameters={"quota": {"keys": 500}})
    acme.Notify.createBinding(
        Identity="ann", Endpoint="phone", BindingType="sms", Address="+15005550001", Tag="home"
    )
    acme.Weather.report()
    acme.Timer.sendInterval(duration=10**9, timer_id="weekly", message={"a": [1, "é"]})
    return {
        "credentials": {name: secrets(device.credentials) for name, device in devices.items()},
        **people(lab, acme),
    }


def people(lab: Lab, acme: Solution) -> dict[str, Any]:
    """Store users, roles, an OAuth client with tokens, and a social login. Returns the tokens."""
    user = acme.User
    code = user.createUser(email="ann@example.com", name="Ann", password=PASSWORD)
    assert user.activateUser(code=code) == "OK"
    ann = user.listUsers()[0]["id"]
    user.createUserData(id=ann, colour="blue")
    user.createRole(role_id="keeper", parameter=[{"name": "sn"}])
    user.addRolePerm(role_id="keeper", body=[{"method": "GET", "end_point": "devices/{sn}"}])
    user.assignUser(id=ann, roles=[{"role_id": "keeper", "parameters": [{"name": "sn", "value": "t001"}]}])
    token = user.getUserToken(email="ann@example.com", password=PASSWORD, time_to_live=10**9)
    client = user.createOauthClient(id=ann, name="app", redirect=[CALLBACK])
    code = user.getOauthAuthorizeApproved(
        token=token, client_id=client["id"], redirect_uri=CALLBACK, response_type="code"
    )
    google = lab.provider("google").register(CALLBACK)
    user.createSocial(
        consumer="google", redirect=CALLBACK, client_id=google.client_id, client_secret=google.client_secret
    )
    user.getSocialLoginUrl(consumer="google")
    grant = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
    return {"token": token, "code": {"client_id": client["id"], "client_secret": client["secret"], **grant}}


def contents(lab: Lab, products: dict[str, Product], acme: Solution, kept: dict[str, Any]) -> dict[str, Any]:
    """Return what a filled lab has, as its devices, its people and its solution see it. kept: what `fill` returned."""
    user, lamp = acme.User, products["lamp"].device("l-001").use(Credentials(**kept["credentials"]["l-001"]))
    device = products["thermostat"].device("t-001").use(Credentials(**kept["credentials"]["t-001"]))
    return {
        "timers": acme.Timer.list()["timers"],
        "time": str(lab.clock.now),
        "tags": acme.Device2.getIdentityTag(identity="t-001", pid="thermostat")["tags"],
        "devices": json.loads(products["thermostat"].devices().reset_index().to_json(orient="records")),
        "read": [device.read("temperature", "target"), lamp.read("level")],
        "datapoints": lab.sql("select product, identity, alias, value from datapoint").values.tolist(),
        "content": [device.content(), len(device.download("firmware-2"))],
        "keystore": [
            acme.Keystore.get(key="last"),
            acme.Keystore.command(command="lrange", key="list", args=[0, 9]),
        ],
        "tsdb": acme.Tsdb.query(metrics=["temperature", "state"], epoch="ms")["values"],
        "series": [
            acme.Tsdb.listTags()["tags"],
            acme.Tsdb.recent(metrics="temperature", tags={"sn": "t-001"})["values"],
        ],
        "timeseries": acme.Timeseries.query(q="SELECT * FROM temperature")["results"],
        "settings": acme.Config.getParameters(service="Keystore"),
        "bindings": [[each[name] for name in BINDING] for each in acme.Notify.listBinding()["bindings"]],
        "users": user.listUsers(),
        "data": user.listUserData(id=1),
        "logged in": user.getCurrentUser(token=kept["token"])["name"],
        "password": user.getUserToken(email="ann@example.com", password=PASSWORD).count("."),
        "roles": [user.listRoles(), user.listUserRoles(id=1), user.listRolePerms(role_id="keeper")],
        "permission": user.hasUserPerm(id=1, perm_id="GET/devices/{sn}", parameters=["sn::t001"]),
        "oauth clients": user.getOauthClients(id=1),
        "oauth": user.getOauthToken(**kept["code"])["token_type"],
        "socials": user.socialList(),
        "quota": [acme.Weather.report().get("status", "sunny") for _ in range(5)],
    }


def secrets(credentials: Credentials) -> dict[str, Any]:
    return {name: value for name, value in asdict(credentials).items() if value is not None}


def store(name: str) -> None:
    """Write the data file of this labkit, and what it contains. name: of the files."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "lab.db"
        opened = whole_lab(data)
        with opened[0]:
            kept = fill(*opened)
        file = FOLDER / f"lab-{name}.db"
        shutil.copy(data, file)
        opened = whole_lab(data)
        with opened[0]:
            found = contents(*opened, kept)
    file.with_suffix(".json").write_text(json.dumps({"kept": kept, "contents": found}, indent=2) + "\n")


if __name__ == "__main__":
    store(sys.argv[1])
