"""Operations whose cost is compared at two sizes: devices, users, interfaces, solutions, the journal and the lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from labkit.bench.control import BenchError
from labkit.bench.notifications import ACCOUNT, SERVICE, fill_bindings
from labkit.bench.stage import Call, Stage, control, page, scan, service
from labkit.devices.identities import resource_id
from labkit.devices.state import STORE
from labkit.devices.tags import ADD
from labkit.providers.messaging import bindings as messaging
from labkit.services.websocket.service import Websocket
from labkit.settings import FaultSettings, LabSettings, SolutionSettings, build

CHAIN = 10  # records
SMALL = 10  # items of the tenant that is asked, among many of another one


def _name(number: int) -> str:
    return f"d{number:07}"


async def _add_devices(stage: Stage, product: str, size: int) -> None:
    names = [_name(number) for number in range(size)]
    await stage.platform.devices.registry.allow(product, names)
    await stage.store(
        ADD, ((product, each, *tag) for each in names for tag in (("kind", "some"), ("sn", each)))
    )
    await stage.store(
        STORE, ((product, each, "number", 1000, "7", 1000, 1 + at) for at, each in enumerate(names))
    )


async def devices(stage: Stage) -> None:
    """Store devices with two tags and a value each."""
    await _add_devices(stage, "thing", stage.size)


async def devices_of_another(stage: Stage) -> None:
    """Store a few devices, and many of another product."""
    await _add_devices(stage, "thing", SMALL)
    await _add_devices(stage, "other", stage.size)


async def _add_device(stage: Stage) -> None:
    await stage.call("Device2", "addIdentity", identity="new")
    await _rpc("nobody")(stage)  # whose id is sought among those of all devices
    await stage.call("Device2", "removeIdentity", identity="new")


def _rpc(of: str) -> Call:
    """Return a call of `info` of a resource by its id. of: identity of an existing device, or of none."""
    return _procedure("info", resource_id("thing", of), {"basic": True})


def _procedure(name: str, *arguments: Any, solution: str = "home") -> Call:
    calls = [{"id": 1, "procedure": name, "arguments": arguments}]
    return service("Device.rpcCall", calls=calls, solution=solution)


async def _seek_in_two(stage: Stage) -> None:
    for solution in ("home", "other"):
        await _procedure("info", "0" * 40, solution=solution)(stage)


MIDDLE = _name(150)
TOKEN = {"type": "token", "key": "a" * 40}
DEVICES = [
    page("getIdentity", devices, service("Device2.getIdentity", identity=MIDDLE)),
    page("listIdentities, a page", devices, service("Device2.listIdentities", limit=10)),
    page("listIdentities by prefix", devices, service("Device2.listIdentities", identity="d00001*", limit=10)),
    page("listIdentities by name", devices, service("Device2.listIdentities", identity=MIDDLE)),
    page("listIdentities by status", devices, service("Device2.listIdentities", status="whitelisted", limit=10)),
    page("listIdentities by tag of all", devices, service("Device2.listIdentities", tag={"name": "kind"}, limit=10)),
    page("listIdentities by value of all", devices,
         service("Device2.listIdentities", tag={"name": "kind", "value": "some"}, limit=10)),
    page("listIdentities by tag of one", devices,
         service("Device2.listIdentities", tag={"name": "sn", "value": MIDDLE})),
    scan("listIdentities, the last page", devices, service("Device2.listIdentities", status="locked")),
    scan("countIdentities", devices, service("Device2.countIdentities")),
    scan("countIdentities by name and tag", devices,
         service("Device2.countIdentities", identity="*7", tag={"name": "kind"})),
    page("addIdentity, an unknown rid, removeIdentity", devices, _add_device),
    page("setIdentityState", devices, service("Device2.setIdentityState", identity=MIDDLE, number=3)),
    page("updateIdentity, a token", devices, service("Device2.updateIdentity", identity=MIDDLE, auth=TOKEN)),
    page("listTagNames", devices, service("Device2.listTagNames", limit=10)),
    page("addIdentityTag", devices,
         service("Device2.addIdentityTag", identity=MIDDLE, tags={"name": "a", "value": "b"})),
    page("Device.list, a page", devices, service("Device.list", limit=10)),
    scan("Device.rpcCall, a listing", devices, _procedure("listing", ["client"], {})),
    page("Device.rpcCall by rid", devices, _rpc(MIDDLE)),
    page("Device.rpcCall by an unknown rid", devices, _rpc("nobody")),
    page("Device.write", devices, service("Device.write", device_sn=MIDDLE, number=3)),
    page("identities.all, a page", devices, control("identities.all", "thing", None, 10)),
    scan("identities.all", devices, control("identities.all", "thing")),
    page("identities.lock", devices, control("identities.lock", "thing", MIDDLE)),
    page("countIdentities beside another's", devices_of_another, service("Device2.countIdentities")),
    page("Device.rpcCall by an unknown rid of each product", devices_of_another, _seek_in_two),
    page("listIdentities beside another's", devices_of_another, service("Device2.listIdentities")),
]  # fmt: skip

# ---- users

ADD_USER = (
    "INSERT INTO user (solution, id, email, folded, name, folded_name, status, creation_date, password, generation) "
    "VALUES (?, ?, ?, ?, ?, ?, 1, 1000, 'none', 0)"
)
COUNT_USERS = "INSERT INTO user_counter (solution, kind, last) VALUES (?, 'user', ?)"
ASSIGN = "INSERT INTO assignment (solution, user_id, role) VALUES (?, ?, 'held')"
ASSIGN_VALUE = (
    "INSERT INTO assigned_value (solution, user_id, role, parameter, value) VALUES (?, ?, 'held', 'thing', ?)"
)
ADD_ROLE = "INSERT INTO role (solution, role, role_id) VALUES (?, ?, ?)"
ADD_PARAMETER = "INSERT INTO role_parameter (solution, role, parameter, name) VALUES (?, ?, 'thing', 'thing')"
ADD_CLIENT = (
    "INSERT INTO oauth_client (solution, id, name, secret, revoked, user_id, redirect, created_at, updated_at) "
    "VALUES (?, ?, 'some', 'some', 0, ?, '', '', '')"
)
HELD = {"role_id": "held", "parameter_name": "thing"}


async def _add_users(stage: Stage, solution: str, size: int) -> None:
    numbers = range(1, size + 1)
    await stage.store(
        ADD_USER,
        ((solution, at, *[f"person{at}@example.com"] * 2, *[f"person {at}"] * 2) for at in numbers),
    )
    await stage.store(COUNT_USERS, [(solution, size)])
    await stage.store(ADD_ROLE, [(solution, "held", "held")])
    await stage.store(ADD_PARAMETER, [(solution, "held")])
    await stage.store(ASSIGN, ((solution, at) for at in numbers))
    await stage.store(ADD_CLIENT, ((solution, at, at) for at in numbers))
    await stage.store(ASSIGN_VALUE, ((solution, at, f"v{at}") for at in numbers))


async def users(stage: Stage) -> None:
    """Store users who all have one role, each with a value of its own."""
    await _add_users(stage, "home", stage.size)


async def users_of_another(stage: Stage) -> None:
    """Store a few users, and many of another solution."""
    await _add_users(stage, "home", SMALL)
    await _add_users(stage, "other", stage.size)


async def roles(stage: Stage) -> None:
    """Store roles with a parameter each, and a user."""
    await _add_users(stage, "home", 1)
    names = [f"role{at}" for at in range(stage.size)]
    await stage.store(ADD_ROLE, (("home", each, each) for each in names))
    await stage.store(ADD_PARAMETER, (("home", each) for each in names))


async def _add_user(stage: Stage) -> None:
    made = await stage.platform.context.database.run(_insert_user)
    await stage.call(
        "User",
        "assignUser",
        id=made,
        roles=[{"role_id": "held", "parameters": [{"name": "thing", "value": "x"}]}],
    )
    await stage.call("User", "deassignUser", id=made, role_id="held")
    await stage.call("User", "deleteUser", id=made)


def _insert_user(connection: Any) -> int:
    from labkit.services.user import accounts

    return accounts.add(connection, "home", "new@example.com", "new", created=1000, password="none").id


async def _add_role(stage: Stage) -> None:
    await stage.call("User", "createRole", role_id="new", parameter=[{"name": "thing"}])
    await stage.call("User", "deleteRole", role_id="new")


async def _last_users(stage: Stage) -> None:
    await stage.call("User", "listUsers", offset=stage.size - 10, limit=10)


async def _permission(stage: Stage) -> None:
    route = {"method": "GET", "end_point": "{thing}"}
    await stage.call("User", "addRolePerm", role_id="held", body=route)
    await stage.call("User", "hasUserPerm", id=150, perm_id="GET/{thing}", parameters=["thing::v150"])
    await stage.call("User", "deletePerm", perm_id="GET/{thing}")


def _users(filter: str, **more: Any) -> Call:
    return service("User.listUsers", filter=filter, **more)


USERS = [
    page("getUser", users, service("User.getUser", id=150)),
    page("users.search, a page", users, control("users.search", "home", limit=10)),
    scan("users.search by a part of the address", users, control("users.search", "home", "person15", limit=10)),
    page("listUsers, a page", users, service("User.listUsers", limit=10)),
    page("listUsers, the tenth page", users, service("User.listUsers", offset=90, limit=10)),
    scan("listUsers, the last page", users, _last_users),
    page("listUsers by id", users, _users("id::ge::100", limit=10)),
    page("listUsers by address", users, _users("email::eq::person150@example.com")),
    page("listUsers by status", users, _users("status::eq::1", limit=10)),
    scan("listUsers by a part of the address", users, _users("email::like::person15", limit=10)),
    page("listRoleParamUsers", users, service("User.listRoleParamUsers", parameter_value="v150", **HELD)),
    scan("listRoleUsers", users, service("User.listRoleUsers", role_id="held")),
    page("getOauthClients", users, service("User.getOauthClients", id=150)),
    page("hasUserRoleParam", users, service("User.hasUserRoleParam", id=150, parameter_value="v150", **HELD)),
    page("addRolePerm, hasUserPerm, deletePerm", users, _permission),
    page("listUserRoles", users, service("User.listUserRoles", id=150)),
    page("a user assigned a role and deleted", users, _add_user),
    page("deleteRoleParamValue", users, service("User.deleteRoleParamValue", parameter_value="none", **HELD)),
    page("createRole, deleteRole beside users", users, _add_role),
    page("listUsers beside another's", users_of_another, service("User.listUsers")),
    page("listRoleUsers beside another's", users_of_another, service("User.listRoleUsers", role_id="held")),
    scan("listRoles", roles, service("User.listRoles")),
    page("createRole, deleteRole", roles, _add_role),
    page("assignUser", roles, service("User.assignUser", id=1, roles={"role_id": "role150"})),
]  # fmt: skip

# ---- interfaces, solutions

OPERATIONS = [{"name": "light", "parameters": {"title": "order"}, "script": "return {}"}]
PER_SOLUTION = 10  # items that count as one solution, which takes more room than others


async def solutions(stage: Stage) -> None:
    """Add solutions, each with a domain."""
    await stage.platform.solutions.add_all(
        [SolutionSettings(id=f"s{at}") for at in range(stage.size // PER_SOLUTION)]
    )


async def _emit(stage: Stage) -> None:
    events = stage.platform.context.events
    [kind] = [each for each in events.kinds() if (each.service, each.event) == ("device", "datapoint")]
    events.emit("thing/d", [(kind, dict, None)], cause=None, product="thing")
    await stage.platform.settle()


async def subscribers(stage: Stage) -> None:
    """Add a publisher, and solutions that subscribe to it."""
    await _publish(stage, ["lights"], [f"s{at}" for at in range(stage.size // PER_SOLUTION)])


async def publishers(stage: Stage) -> None:
    """Add publishers, and a solution that subscribes to one of them."""
    names = [f"p{at}" for at in range(stage.size // PER_SOLUTION)]
    await _publish(stage, ["lights", *names], ["s0"])


async def _publish(stage: Stage, names: list[str], subscribing: list[str]) -> None:
    offered = {"Interface": {"operations": OPERATIONS}}
    plain: list[dict[str, Any]] = [{"id": each, "services": offered} for each in names]
    plain += [{"id": each, "subscriptions": [{"publisher": "lights"}]} for each in subscribing]
    made = build(LabSettings, {"https_port": 0, "solutions": plain}, "").solutions
    await stage.platform.solutions.add_all(made)


async def _subscribe(stage: Stage) -> None:
    await stage.control.interface.subscribe("home", "lights")
    await stage.control.interface.remove("home", "lights")


async def _add_solution(stage: Stage) -> None:
    await stage.control.solutions.ensure(SolutionSettings(id="new"))
    await stage.platform.solutions.remove("new")
    await stage.platform.settle()


SOLUTIONS = [
    page("solutions.ensure, an existing one", solutions, control("solutions.ensure", SolutionSettings(id="s7"))),
    page("solutions.get", solutions, control("solutions.get", "s7")),
    page("solutions.ensure, solutions.remove", solutions, _add_solution),
    page("a call of a service beside solutions", solutions, service("Config.listServices")),
    page("a device's event beside solutions", solutions, _emit),
    scan("addresses.hosts", solutions, control("addresses.hosts")),
    scan("solutions.all", solutions, control("solutions.all")),
    scan("lab.reset", solutions, control("lab.reset")),
    scan("listSubscribers", subscribers, service("Interface.listSubscribers", solution="lights", limit=10)),
    page("an operation of a publisher", subscribers, service("Lights.light", solution="s7")),
    page("an event to one subscriber", subscribers,
         service("Interface.getSubscriber", solution="lights", subscriber_id="s7")),
    scan("interface.subscribers", subscribers, control("interface.subscribers", "lights")),
    page("interface.subscribe, interface.remove", subscribers, _subscribe),
    page("interface.subscribe beside publishers", publishers, _subscribe),
    page("interface.publish", publishers, control("interface.publish", "p7", {"operations": OPERATIONS})),
    page("an operation of one of many publishers", publishers, service("Lights.light", solution="s0")),
]  # fmt: skip

# ---- the journal and the lab


async def records(stage: Stage) -> None:
    """Add records to the journal: chains of a few, each with a cause before it."""
    journal, cause = stage.platform.context.journal, None
    for at in range(stage.size):
        solution = "home" if at % CHAIN else "other"
        cause = journal.record(
            "log", solution, f"line {at}", cause=cause if at % CHAIN else None, detail={"a": at}
        )


async def _snapshot(stage: Stage) -> None:
    made = await stage.control.lab.snapshot()
    await stage.control.lab.restore(made.content)


LAB = [
    page("journal.search, a page", records, control("journal.search", limit=10)),
    scan("journal.search by text", records, control("journal.search", text="line 150", limit=10)),
    page("journal.last", records, control("journal.last", 10)),
    page("journal.state", records, control("journal.state")),
    scan("journal.trace", records, control("journal.trace", 150)),
    scan("journal.canonical_name", records, control("journal.canonical_name", 150)),
    scan("journal.canonical", records, control("journal.canonical")),
    scan("journal.select of a kind, as lab.calls", records, control("journal.select", "call")),
    scan("journal.select", records, control("journal.select")),
    scan("solutions.logs", records, control("solutions.logs", "home")),
    scan("lab.snapshot, lab.restore", records, _snapshot),
]  # fmt: skip

# ---- bindings, websockets, mails, faults, polls, content


async def bindings(stage: Stage) -> None:
    """Store bindings of the messaging provider, a few of them with a tag of their own."""
    await stage.platform.context.database.run(fill_bindings, stage.size, ACCOUNT, SERVICE)


async def _bindings(stage: Stage, **wanted: Any) -> object:
    read = stage.platform.context.database.read
    return await read(messaging.page, SERVICE, messaging.Selection(**wanted), 10)


@dataclass
class Socket:
    """An open websocket without a client."""

    id: str
    solution: str

    def table(self) -> dict[str, object]:
        """Return no fields."""
        return {}

    async def send(self, message: str | bytes) -> None:
        """Send nothing."""

    def close(self, code: int = 1000, reason: str = "", *, quiet: bool = False) -> None:
        """Close nothing."""


def _sockets(stage: Stage) -> Websocket:
    return cast(Websocket, stage.platform.context.services.get("Websocket"))


async def websockets(stage: Stage) -> None:
    """Open websockets of a solution."""
    for at in range(stage.size):
        _sockets(stage).add(Socket(f"w{at}", "home"))


async def _open_websocket(stage: Stage) -> None:
    _sockets(stage).add(socket := Socket("new", "home"))
    _sockets(stage).remove(socket)


async def mails(stage: Stage) -> None:
    """Receive mails, each for another address."""
    for at in range(stage.size):
        _receive(stage, at)


def _receive(stage: Stage, at: int) -> None:
    sent = {"solution": "home", "sender": "a@example.com", "subject": f"subject {at}"}
    stage.platform.mailbox.receive(**sent, to=[f"person{at}@example.com"])


async def _receive_one(stage: Stage) -> None:
    _receive(stage, 0)


async def faults(stage: Stage) -> None:
    """Add faults of another operation."""
    for at in range(stage.size // PER_SOLUTION):
        fault = {"name": f"fault {at}", "where": "Keystore.get", "solution": "other", "status": 500}
        stage.platform.context.faults.add(build(FaultSettings, fault, ""))


async def polls(stage: Stage) -> None:
    """Open polls, each of another device."""
    for at in range(stage.size):
        stage.platform.devices.polls.open(("thing", _name(at), "number"), None)
    await stage.platform.devices.registry.allow("thing", ["new"])


async def _hold(stage: Stage) -> None:
    polls = stage.platform.devices.polls
    poll = polls.open(("thing", "new", "number"), None)
    await stage.call("Device2", "setIdentityState", identity="new", number=3)
    polls.close(poll)
    if not poll.future.done():
        raise BenchError("the poll has no answer")


async def content(stage: Stage) -> None:
    """Store items of content."""
    for at in range(stage.size):
        await stage.platform.devices.content.add("thing", f"item{at}", b"some")


async def _add_content(stage: Stage) -> None:
    await stage.platform.devices.content.add("thing", "new", b"some")
    await stage.platform.devices.content.remove("thing", "new")


OTHERS = [
    page("bindings, a page", bindings, _bindings),
    page("bindings of an identity", bindings, lambda stage: _bindings(stage, identities=("person 150",))),
    page("a websocket opened and ended", websockets, _open_websocket),
    page("Websocket.send", websockets, service("Websocket.send", socket_id="w150", message="hello")),
    page("Websocket.info", websockets, service("Websocket.info", socket_id="w150")),
    page("Websocket.closeAll beside another's", websockets, service("Websocket.closeAll", solution="other")),
    scan("Websocket.list", websockets, service("Websocket.list")),
    page("a mail received", mails, _receive_one),
    scan("Email.getSettings", mails, service("Email.getSettings")),
    scan("mailbox.find", mails, control("mailbox.find", subject="subject 150")),
    scan("a call beside faults", faults, service("User.listRoles")),
    scan("faults.may_delay", faults, control("faults.may_delay")),
    scan("faults.all", faults, control("faults.all")),
    page("a poll opened and answered", polls, _hold),
    page("polls.count_of_device", polls, control("polls.count_of_device", "thing", _name(7))),
    page("polls.all, a page", polls, control("polls.all", limit=10)),
    page("polls.count", polls, control("polls.count", "thing", _name(7), "number")),
    page("a content item", content, lambda stage: stage.platform.devices.content.info("thing", "item150")),
    page("a content item added and removed", content, _add_content),
    scan("content.all", content, lambda stage: stage.platform.devices.content.list("thing")),
]  # fmt: skip

ROWS = (*DEVICES, *USERS, *SOLUTIONS, *LAB, *OTHERS)
