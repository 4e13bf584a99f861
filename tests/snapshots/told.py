"""Stories of two tenants for tests of snapshots: what can be under way, and steps that go on from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit import Lab, Thermostat

NAMES = ("acme", "acme2")
DEVICE = "t-'1\u00f8"
COUNT = """
local n = (Keystore.get{key = 'n'}.value or 0) + 1
Keystore.set{key = 'n', value = n}
Keystore.command{key = 'short', command = 'incr'}
Keystore.command{key = 'short', command = 'expire', args = {90}}
local short = Keystore.get{key = 'short'}.value
return {n = n, short = short, time = os.time(), random = math.random(1000)}
"""
HANDLER = """
Keystore.command{key = data.device_sn, command = 'rpush', args = {tostring(data.value[2] or data.value[1])}}
if math.random(3) == 1 then
  Email.send{to = 'ann@example.com', subject = 'much', text = tostring(data.value[2])}
end
"""
PHONES = (("ann", "apn", "phone"), ("ben", "sms", "+15005550001"))
LOGIN = {"email": "ann@example.com", "password": "correct horse"}
Step = tuple[str, int, int]  # name of a step, tenant, and a number


def begin(**options: Any) -> Lab:
    """Return a lab with two tenants that have the same names within."""
    lab = Lab(seed=7, **options)
    set_up(lab)
    return lab


def set_up(lab: Lab) -> None:
    """Add products, solutions and people."""
    lab.solution("lights").publish(
        operations=[{"name": "light", "script": "return {level = (Keystore.get{key = 'l'}.value or 0) + 1}"}],
        events=[{"name": "changed"}],
    )
    for name in NAMES:
        product = lab.product(f"thing-{name}", resources={"temperature": "number", "message": "string"})
        solution = lab.solution(
            name, products=[product], services={"Notify": lab.messaging.account}, business=name
        )
        solution.on("device", "datapoint", lua=HANDLER)
        solution.route("GET", "/count", lua=COUNT)
        solution.subscribe("lights", quota={"calls_daily": 5})
        product.device(DEVICE).activate()
        for person, kind, address in PHONES:
            solution.Notify.createBinding(
                Identity=person,
                Endpoint=kind,
                BindingType=kind,
                Address=f"{address}{len(name)}",
                Tag=["family"],
            )
        code = solution.User.createUser(name="Ann", **LOGIN)
        solution.User.activateUser(code=code)
    lab.settle()


def _write(lab: Lab, tenant: str, number: int) -> object:
    device = lab.product(f"thing-{tenant}").device(DEVICE)
    return device.request(
        "POST", "/onep:v1/stack/alias", content=f"temperature={number}&message=m{number}"
    ).status_code


def _poll(lab: Lab, tenant: str, number: int) -> object:
    device = lab.product(f"thing-{tenant}").device(DEVICE)
    since = int(lab.clock.time) - number % 3
    poll = device.start_poll("message", timeout=20, since=since)
    lab.clock.advance(30)
    return poll.result()


def _advance(lab: Lab, tenant: str, number: int) -> object:
    return lab.clock.advance((0.000001, 1, 30, 600)[number % 4]).timestamp()


def _fault(lab: Lab, tenant: str, number: int) -> object:
    where, values = (
        ("POST /onep:v1/stack/alias", {"status": 503, "every": 2}),
        ("device datapoint", {"late": 30, "first": 2}),
        ("device datapoint", {"delay": 40, "chance": 0.5}),
        ("Keystore.set", {"status": 500, "after": 30, "seconds": 60}),
        ("device datapoint", {"doubled": True, "late": 1, "seconds": 100}),
        ("GET /count", {"status": 500, "chance": 0.3, "first": 3}),
    )[number % 6]
    return lab.faults.add(where, **values).name


def _restart(lab: Lab, tenant: str, number: int) -> object:
    lab.restart(down=(0, 1, 45)[number % 3])
    if number % 3:
        lab.clock.advance((0, 1, 45)[number % 3])
    return None


def _phone(lab: Lab, tenant: str, number: int) -> object:
    solution = lab.solution(tenant)
    handset = lab.handsets.get(f"phone{len(tenant)}")
    if handset is not None and number % 2:
        (handset.online if number % 4 == 1 else handset.offline)()
    solution.Notify.send(Tag=["family"], Body=f"b{number}", Ttl=60)
    lab.settle()
    return [[one.text, one.state, one.ended] for each in lab.handsets.values() for one in each.messages]


def _person(lab: Lab, tenant: str, number: int) -> object:
    return str(lab.solution(tenant).User.getUserToken(**LOGIN))


def _light(lab: Lab, tenant: str, number: int) -> object:
    answer = lab.solution(tenant).Lights.light()
    lab.solution("lights").Interface.trigger(event="changed", data={"n": number})
    return answer


def _fleet(lab: Lab, tenant: str, number: int) -> object:
    fleet = lab.product(f"thing-{tenant}").fleet(2, Thermostat, prefix=f"f{number}-")
    return str(fleet.run(minutes=30, progress=False))


def _count(lab: Lab, tenant: str, number: int) -> object:
    return lab.solution(tenant).get("/count").text


STEPS: dict[str, Callable[[Lab, str, int], object]] = {
    "write": _write,
    "count": _count,
    "advance": _advance,
    "fault": _fault,
    "phone": _phone,
    "poll": _poll,
    "restart": _restart,
    "person": _person,
    "light": _light,
    "fleet": _fleet,
}


def tell(lab: Lab, steps: Sequence[Step]) -> list[object]:
    """Take steps, and return what they saw: results, or errors as texts."""
    seen: list[object] = []
    for name, tenant, number in steps:
        try:
            seen.append(STEPS[name](lab, NAMES[tenant], number))
        except Exception as error:  # noqa: BLE001  a platform without power, a fault
            seen.append(f"{type(error).__name__}: {error}")
        lab.settle()
    seen.append([(mail.subject, mail.text, mail.time) for mail in lab.mailbox])
    return seen
