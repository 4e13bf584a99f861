"""Typical mistakes: each message, of an error or a warning, names what was wrong and what to do."""

from __future__ import annotations

import gc
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import labkit
from labkit import Lab, LabkitError, LabWarning
from labkit.cli import main
from labkit.core.errors import is_ours
from labkit.dev.__main__ import main as dev

ALIAS = "/onep:v1/stack/alias"
YAML = """\
profil: spec
products:
- {id: t, auht: token, resources: {temperature: nmber}}
solutions:
- {id: s, pathh: x}
"""

# code; what was wrong; what to do. Names: lab on a virtual clock, `running` on the host's, t (a product), d (its
# device), fleet, s (a solution).
CELLS = [
    # a lab
    ("Lab(sed=3)", "Lab: sed: no such setting", "did you mean seed?"),
    ("Lab(control=True)", "control: a Lab in this process has no control", "labkit serve --control"),
    ("Lab(control={'port': 0})", "control: a Lab in this process has no control", "Lab.connect(url, token)"),
    ("Lab(seed='3')", "seed: expected a whole number", "not '3'"),
    ("Lab('lab.yaml')", "seed: expected a whole number", "use Lab(config='lab.yaml')"),
    (
        "Lab(speed='fast')",
        "not 'fast'",
        "speed: expected lab seconds per real second, 0 for the virtual clock",
    ),
    ("Lab(profile='feild')", "profile:", "expected 'spec' or 'field'"),
    ("Lab(wire={'range_staus': 206})", "wire.range_staus: unknown key", "did you mean range_status?"),
    ("Lab(config='nope.yaml')", "nope.yaml", "No such file"),
    ("Lab(https_port=lab.address.https_port)", "Address already in use", "https_port: 0 takes any free one"),
    ("Lab(config=yaml)", "profil: unknown key (line 1)", "did you mean profile?"),
    ("Lab(config=yaml)", "products.t.auht: unknown key (line 3)", "did you mean auth?"),
    ("Lab(config=yaml)", "solutions.s.pathh: unknown key (line 5)", "did you mean path?"),
    ("Lab(config=yaml)", "products.t.resources.temperature", "expected 'string', 'number', 'boolean'"),
    (
        "lab.product()",
        "missing 1 required positional argument: 'id'",
        "its arguments are: id, replace, domain",
    ),
    ("lab.sql('select * from datapont')", "sql: no table 'datapont'", "did you mean datapoint?"),
    ("lab.sql('select vlaue from datapoint')", "sql: no column 'vlaue'", "did you mean value?"),
    ("lab.sql('delete from datapoint')", "the data is read-only here", "expected a SELECT"),
    ("lab.sql(5)", "not int", "sql: expected the text of a SELECT"),
    ("lab.restart(down=-1)", "not -1", "down: expected seconds, 0 or more"),
    ("lab.restart(dow=1)", "restart: no argument 'dow'", "did you mean down?"),
    # clock
    ("lab.clock.advance(minute=1)", "advance: no argument 'minute'", "did you mean minutes?"),
    ("lab.clock.advance(-1)", "a clock cannot go back", "it is 2026-01-01"),
    ("lab.clock.advance('1h')", "not '1h'", "seconds: expected a number"),
    ("running.clock.advance(60)", "this clock runs by itself", "call freeze() first"),
    ("lab.clock.freeze(1)", "takes 1 positional argument", "its arguments are: none"),
    # products
    ("lab.product('q', auth='tokn')", "product 'q': auth:", "expected 'token', 'password' or 'certificate'"),
    ("lab.product('q', resource={})", "resource: no such setting", "did you mean resources?"),
    ("lab.product('q', resources={'a': 'nmber'})", "resources.a:", "expected 'string', 'number', 'boolean'"),
    (
        "lab.product('t', resources={'a': 'number'})",
        "is there already with other settings",
        "pass replace=True",
    ),
    ("t.settings.aut", "no setting 'aut'", "did you mean auth?"),
    ("setattr(t.settings, 'auth', 'magic')", "auth:", "expected 'token', 'password' or 'certificate'"),
    ("t.remove('x')", "product 't' has no device 'x'", "allow() or activate() adds it"),
    ("t.allow(5)", "not 5", "expected identities such as 't-001'"),
    ("t.device(5)", "not 5", "identity: expected a text such as 't-001'"),
    ("t.content.remove('x')", "product 't' has no content 'x'", "there are: none"),
    # devices
    ("d.write(temprature=1)", "no resource 'temprature' in product 't'", "did you mean temperature?"),
    ("d.read('temprature')", "no resource 'temprature' in product 't'", "did you mean temperature?"),
    ("d.record({'temprature': {1: 2}})", "no resource 'temprature' in product 't'", "there are: temperature"),
    (
        "empty.write(temperature=1)",
        "product 'empty', it has none",
        "give it resources={'temperature': 'number'}",
    ),
    ("d.write(message=None)", "message: None is no value", "omit it to store nothing"),
    ("d.write(5)", "not 5", "expected temperature=21.5"),
    ("d.write(message=[1])", "not [1]", "expected a text, a number or a boolean"),
    ("d.read()", "expected at least one alias", "read('temperature')"),
    ("d.record({'temperature': [1]})", "not {'temperature': [1]}", "expected {alias: {Unix seconds: value}}"),
    ("d.start_poll('temprature')", "no resource 'temprature' in product 't'", "did you mean temperature?"),
    ("d.poll('temprature', 0)", "no resource 'temprature' in product 't'", "did you mean temperature?"),
    ("d.poll('message')", "the clock stands still", "use start_poll()"),
    ("d.start_poll('mesage', timeout=0)", "no resource 'mesage' in product 't'", "did you mean message?"),
    (
        "t.wait_for_poll('t-001', 'mesage', within=0.05)",
        "the lab holds 0 polls of t-001/mesage, not 1, after 0.05 s; no resource 'mesage'",
        "did you mean message?",
    ),
    (
        "t.wait_for_poll('t-002', 'message', within=0.05)",
        "product 't' has no device 't-002'",
        "allow() or activate() adds it",
    ),
    (
        "t.wait_for_poll('t-001', 'message', within=0.05)",
        "the clock stands still",
        "needs lab.clock.advance()",
    ),
    (
        "on_host.wait_for_poll('once-1', 'temperature', within=0.05)",
        "the lab holds 0 polls of once-1/temperature, not 1, after 0.05 s",
        "give other clients longer: held(…, within=60)",
    ),
    ("t.wait_for_poll('t-001', 'message', count='x')", "not 'x'", "count: expected a number of polls"),
    ("d.read(temperature=1)", "read: no argument 'temperature'", "there are: *aliases"),
    ("d.write('temperature', 5)", "3 were given", "its arguments are: "),
    ("d.start_poll('message', timeout=-1)", "not -1", "timeout: expected a number of seconds"),
    # solutions and services
    ("lab.solution('b', products=['tt'])", "no product 'tt'", "did you mean t?"),
    ("lab.solution('b', path='nowhere')", "nowhere", "no such folder"),
    ("lab.solution('b', paths='x')", "paths: no such setting", "did you mean path?"),
    (
        "lab.solution('c', services={'Notfy': {}})",
        "services.Notfy: no service has this name",
        "did you mean Notify?",
    ),
    ("s.Usr", "no service 'Usr'", "did you mean User?"),
    ("s.User.listUser()", "User.listUser was refused with 404", "did you mean listUsers?"),
    ("s.call('Usr', 'listUsers')", "Usr.listUsers was refused with 404", "did you mean User?"),
    ("s.User.listUsers(filtr='x')", "filtr is not a parameter of listUsers", "did you mean filter?"),
    ("s.User.getUser(5)", "not 5", "expected arguments by name"),
    ("s.Device2.setIdentityState(identity='x', a=1)", "refused with", "Device2.setIdentityState"),
    ("strict.User.listUser()", "User.listUser was refused with 404", "did you mean listUsers?"),
    ("s.on('devices', 'datapoint', lua='')", "nothing emits events of 'devices' yet", "did you mean device?"),
    ("s.on('device', 'datapoints', lua='')", "device has no event 'datapoints'", "did you mean datapoint?"),
    ("s.on('device', 'datapoint', 5)", "not 5", 'expected a function, or lua="…"'),
    ("s.route('GTE', '/x', lua='')", "'GTE' is no method", "DELETE, GET, HEAD"),
    ("s.get(5)", "not 5", "path: expected a text such as '/metrics'"),
    (
        "s.get('https://example.com/')",
        "path: https://example.com/ is not at",
        "lab.browser() visits other hosts",
    ),
    ("s.subscribe('nobody')", "no solution 'nobody'", "there are: strict, shop"),
    ("s.publish(operation=[])", "operation: unknown key", "did you mean operations?"),
    ("lab.service('X')", "X: expected a function for each operation", "X(postMessage=function)"),
    # faults of the lab
    (f"lab.faults.add('/{ALIAS[1:]}', status=503)", "expected a method before the path", "'POST /onep"),
    (
        f"lab.faults.add('POST {ALIAS[1:]}', status=503)",
        "the path of a request begins with /",
        f"'POST {ALIAS}'",
    ),
    (
        "lab.faults.add('POST /onep:v1/stak/alias', status=503)",
        "no request has the path",
        f"did you mean {ALIAS}?",
    ),
    (f"lab.faults.add('POST {ALIAS}', stauts=503)", "stauts: no such setting", "did you mean status?"),
    (f"lab.faults.add('POST {ALIAS}', status=50)", "status: expected", "greater than or equal to 200"),
    (f"lab.faults.add('POST {ALIAS}', status=503, product='x')", "no product 'x'", "there are: "),
    (
        f"lab.faults.add('POST {ALIAS}', replace={{'a': 1}})",
        "has no body with 'a'",
        "when='before' changes the request",
    ),
    (
        f"lab.faults.add('POST {ALIAS}')",
        f"fault at 'POST {ALIAS}': expected an action",
        "one of: body, cut, delay",
    ),
    (
        "lab.faults.add('User.listUser', status=503)",
        "no operation of User 'listUser'",
        "did you mean listUsers?",
    ),
    (
        "lab.faults.add('device datapont', lost=True)",
        "no event of device 'datapont'",
        "did you mean datapoint?",
    ),
    ("lab.faults.add('provider gogle token', does='slow')", "no provider 'gogle'", "did you mean google?"),
    ("lab.faults.add('provider google token', does='slo')", "no fault 'slo'", "did you mean slow?"),
    ("lab.faults.get('x')", "no fault 'x'", "there are: "),
    # what the lab recorded
    ("lab.mailbox['x']", "not 'x'", "mailbox: expected a number such as -1"),
    ("lab.browser().get('https://x.example/')", "is no HTTPS URL of this lab", "lab.hosts lists its hosts"),
    ("lab.mailbox[-1]", "no mail -1 in the mailbox", "lab.settle() waits"),
    ("lab.journal.frame(kind='reqest')", "no kind of record 'reqest'", "did you mean request?"),
    ("lab.journal.frame()['knd']", "no column 'knd'", "did you mean kind?"),
    ("s.logs['levl']", "no column 'levl'", "did you mean level?"),
    ("lab.handsets['x']", "no handset 'x'", "there are: none"),
    ("lab.browser().submit()", "this browser has visited nothing yet", "get(url) first"),
    ("lab.provider('googel')", "no provider 'googel'", "did you mean google?"),
    ("lab.messaging.fault('rate limted')", "no fault 'rate limted'", "did you mean rate limited?"),
    # fleets
    ("t.fleet(2)", "fleet: expected a number of devices and a behaviour", "fleet(200, Thermostat)"),
    ("t.fleet('2', labkit.Bulb)", "not '2'", "fleet: expected a number of devices"),
    ("t.fleet(2, 'bulb')", "not 'bulb'", "expected a class of labkit.Behaviour"),
    ("t.fleet(1, labkit.Bulb, prefix='t-')", "device 't-001' belongs to the handle", "with prefix='tf-'"),
    ("labkit.Thermostat(evry=1)", "Thermostat: no parameter 'evry'", "did you mean every?"),
    ("labkit.Thermostat(every='x')", "not 'x'", "Thermostat: every: expected a valid number"),
    ("labkit.Thermostat(every=-1)", "not -1", "every: expected greater than 0"),
    ("labkit.Flat(rate=1)", "Flat: no argument 'rate'", "there are: value"),
    ("labkit.Flat(-1)", "not -1", "value has to be a number of at least 0"),
    ("fleet.run(day=1)", "no argument 'day'", "did you mean days?"),
    ("fleet.run(hour=1)", "no argument 'hour'", "did you mean hours?"),
    ("fleet.run()", "this clock stands still", "run(days=1)"),
    ("fleet.run(days=1, transport='memry')", "not 'memry'", "transport: expected 'tls' or 'memory'"),
    (
        "fleet.run(days=1, workers=2)",
        "on a virtual clock one device runs at a time",
        "make the lab with speed=1",
    ),
    ("fleet.run(days=1, arrivals=5)", "not 5", "arrivals: expected a shape such as Flat(5)"),
    ("fleet.run(seconds=2)", "no resource 'temprature' in product 't'", "did you mean temperature?"),
    ("standing.run(days=1)", "the run takes 1 d of real time", "Lab(seed=…)"),
    ("fleet.repeat('x')", "no device 'x'", "there are f-001 to f-002"),
    ("fleet.faults.add(second=60)", "add: no argument 'second'", "did you mean seconds?"),
    ("fleet.faults.add('drop aftr')", "no fault of a device 'drop aftr'", "did you mean drop after?"),
    ("fleet.faults.add('platform restart')", "a platform restart needs its time", "after=3600"),
    ("fleet.faults.add('delay', after=5)", "only a platform restart has it", "every= or chance="),
    ("fleet.faults.add('delay', devices='x')", "none that is 'x'", "there are: f-001 to f-002"),
    ("fleet.faults.add('delay', every=1.5)", "not 1.5", "every: expected a number of requests"),
]

COMMANDS = [
    ("serve lab.yaml", "unexpected extra argument (lab.yaml)", "did you mean --config lab.yaml"),
    ("serve --confg lab.yaml", "no such option '--confg'", "'--config'"),
    ("serve --config nope.yaml", "nope.yaml", "No such file"),
    ("flet", "no command 'flet'", "did you mean fleet?"),
    ("fleet --config x.yaml", "missing option '--product'", "see labkit fleet --help"),
    ("fleet --product t", "missing duration", "use --days, --hours"),
    ("fleet --product t --days 1", "missing platform", "use --config lab.yaml"),
    ("fleet --product t --days 1 --transport tcp", "'tcp' is not one of", "'tls', 'memory'"),
    ("fleet --product t --days 1 --behaviour bulbs", "no behaviour 'bulbs'", "there are: bulb"),
    ("fleet --product t --days 1 -p evry=1", "no parameter 'evry'", "did you mean every?"),
    ("fleet --product t --days 1 --fail-if p999>1s", "no measure 'p999'", "there are: pN"),
    ("fleet --product t --days 1 --fail-if p99", "--fail-if 'p99'", "as in 'p99>250ms'"),
    ("fleet --product t --days 1 --target x --transport memory", "--transport: not with --target", "HTTPS"),
    ("fleet --product t --days x", "'x' is not a valid number", "see labkit fleet --help"),
    ("fleet --product t --devices x", "'x' is not a valid integer", "see labkit fleet --help"),
    ("call clock.state --target nope.json", "nope.json", "No such file"),
    ("call clok.state", "no subject 'clok'", "did you mean clock?"),
    ("call clock state", "not 'clock'", "did you mean clock.state?"),
    ("report --target nope.json", "nope.json", "No such file"),
    ("list operation", "'operation' is not one of", "'operations'"),
]

DEV = [
    ("new part devic/thing", "no area 'devic'", "did you mean device?"),
    ("new service smart", "'smart'", "expected a name in CamelCase, such as SmartMeter"),
]


class Misspelt(labkit.Behaviour):
    """Behaviour that writes an alias without a resource."""

    async def run(self, device: Any) -> None:
        await device.write(temprature=1)


class Once(labkit.Behaviour):
    """Behaviour of a device that ends after one write."""

    async def run(self, device: Any) -> None:
        await device.write(temperature=1)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    yaml = tmp_path_factory.mktemp("mistakes") / "lab.yaml"
    yaml.write_text(YAML)
    with Lab(seed=7) as lab, Lab() as running:
        t = lab.product("t", resources={"temperature": "number", "message": "string"})
        on_host = running.product("t", resources={"temperature": "number"})
        on_host.allow("once-1")
        standing = on_host.fleet(1, Once)
        strict = lab.solution("strict")
        strict.strict = True
        yield {
            "Lab": Lab,
            "labkit": labkit,
            "yaml": yaml,
            "lab": lab,
            "running": running,
            "t": t,
            "d": t.device("t-001").activate(),
            "empty": lab.product("empty").device("e-001").activate(),
            "s": lab.solution("shop", products=[t]),
            "strict": strict,
            "fleet": t.fleet(2, Misspelt, prefix="f-"),
            "standing": standing,
            "on_host": on_host,
        }


@pytest.mark.parametrize(("code", "wrong", "remedy"), CELLS)
def test_a_mistake_in_a_cell(names: dict[str, Any], code: str, wrong: str, remedy: str) -> None:
    told = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            eval(code, names)
        except LabkitError as error:
            told.append(str(error))
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if is_ours(frame)]
            assert len(frames) <= 1, code
        gc.collect()
    told += [str(each.message) for each in seen if each.category is LabWarning]
    [text] = told
    assert wrong in text
    assert remedy in text
    assert "\n" not in text
    assert all(each.filename == "<string>" for each in seen if each.category is LabWarning)


@pytest.mark.parametrize(("line", "wrong", "remedy"), COMMANDS)
def test_a_mistake_at_a_terminal(line: str, wrong: str, remedy: str) -> None:
    check_line(main, line, wrong, remedy)


@pytest.mark.parametrize(("line", "wrong", "remedy"), DEV)
def test_a_mistake_of_a_developer(line: str, wrong: str, remedy: str) -> None:
    check_line(dev, line, wrong, remedy)


def check_line(command: Any, line: str, wrong: str, remedy: str) -> None:
    """Check that a command line ends with one line on stderr and a status other than 0."""
    ended = CliRunner().invoke(command, line.split(), prog_name="labkit")
    assert ended.exit_code in (1, 2)
    [text] = ended.stderr.splitlines()
    assert text.startswith("labkit: ")
    assert wrong in text
    assert remedy in text


def test_a_refusal_that_is_read_gives_no_warning(names: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", LabWarning)
        assert names["s"].User.listUser()["status"] == 404
        refused = names["s"].User.listUser()
        assert dict(refused) == {**refused}
        del refused
        gc.collect()
    assert [each for each in seen if each.category is LabWarning] == []


def test_handlers_and_faults_that_something_reaches_give_no_warning(names: dict[str, Any]) -> None:
    lab, s = names["lab"], names["s"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabWarning)
        for service, event in (("device", "datapoint"), ("t", "event"), ("{product.id}", "datapoint")):
            s.on(service, event, lua="")
        s.on("timer", "timer", lua="")
        s.on("config", "fallback", lua="")
        s.route("GET", "/rooms/{room}/lamps", lua="")
        for where in (f"POST {ALIAS}", "GET /rooms/*", "GET /rooms/hall/lamps", "* /*", "GET /quite/another"):
            lab.faults.add(where, status=503)


def test_a_fault_of_lab_yaml_that_can_hit_nothing_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("faults: [{where: GET /timestam, status: 503}]\nhttps_port: 0\n")
    with pytest.warns(LabWarning, match=r"no request has the path '/timestam'; did you mean") as seen:
        Lab(config=tmp_path / "lab.yaml").close()
    assert [Path(each.filename) for each in seen] == [Path(__file__)]


def test_a_fleet_warns_once_of_an_alias(names: dict[str, Any]) -> None:
    with pytest.warns(
        LabWarning, match="devices wrote what the platform ignores: no resource 'temprature'"
    ) as seen:
        names["fleet"].run(seconds=5)
    assert len(seen) == 1
    assert Path(seen[0].filename) == Path(__file__)


def test_a_device_polls_again_where_the_timeout_is_longer_than_the_platform_allows() -> None:
    class Waits(labkit.Behaviour):
        async def run(self, device: Any) -> None:
            assert await device.wait_for("message", timeout=700) is None
            device.note(until=device.now())

    with Lab(seed=3) as lab:
        run = lab.product("t", resources={"message": "string"}).fleet(1, Waits).run(hours=1)
        began, until = run.began, run.devices()["until"].iloc[0]
        assert run.failed == []
    assert 699 <= until - began <= 703


def test_a_missing_await_names_the_public_method() -> None:
    class Forgets(labkit.Behaviour):
        async def run(self, device: Any) -> None:
            device.write(message="a")
            await device.sleep(1)

    with warnings.catch_warnings(record=True) as seen, Lab(seed=3) as lab:
        warnings.simplefilter("always")
        lab.product("t", resources={"message": "string"}).fleet(1, Forgets).run(seconds=5)
        gc.collect()
    assert "coroutine 'device.write' was never awaited" in [str(each.message) for each in seen]


def test_there_are_enough_mistakes() -> None:
    assert len(CELLS) + len(COMMANDS) + len(DEV) >= 120
