"""A closed lab is freed by the garbage collector, after all kinds of activity."""

from __future__ import annotations

import gc
import socket
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from labkit import Lab
from labkit.platform import Platform
from tests.guard import PATIENCE

OURS = ("labkit", "OpenSSL", "lupa")
HOLDERS = ("builtins.frame", "builtins.coroutine", "_asyncio.Task")
PLATFORM = f"{Platform.__module__}.{Platform.__qualname__}"
# The first call has an empty key, so it is refused; the second one writes.
SCRIPT = """
Keystore.set{key = "", value = 1}
Keystore.command{key = "n", command = "incrby", args = {1}}
"""


def alive() -> Counter[str]:
    """Return the number of objects of each type that may belong to a lab, or refer to one."""
    gc.collect()
    gc.collect()  # and objects that finalizers released
    named = (f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return Counter(name for name in named if name.partition(".")[0] in OURS or name in HOLDERS)


def fail_to_connect(lab: Lab) -> None:
    """Make handshakes that fail: with an unknown name, without a name, and without TLS."""
    context = lab.address.context()
    context.check_hostname = False
    at = lab.address.host, lab.address.https_port
    for name in ("nobody.lab.localhost", None):
        with socket.create_connection(at, timeout=PATIENCE) as raw, suppress(OSError):
            context.wrap_socket(raw, server_hostname=name).close()
    with socket.create_connection(at, timeout=PATIENCE) as raw, suppress(OSError):
        raw.sendall(b"this is no greeting of TLS")
        raw.recv(100)


def devices(lab: Lab) -> None:
    """Write, download, be refused, and leave a pending poll; with each type of credentials."""
    for auth in ("token", "password", "certificate"):
        product = lab.product(auth, auth=auth, resources={"message": "string"})
        product.content.add("fw.bin", b"0" * 100_000)
        device = product.device("t-1").activate()
        device.write(message="x")
        device.download("fw.bin")
        assert device.request("GET", "/nothing").status_code == 404
        device.activate()  # the old credentials are invalid
        device.start_poll("message")
        fail_to_connect(lab)


def solutions(lab: Lab) -> None:
    """Run scripts and functions that fail, and calls whose arguments are refused."""
    solution = lab.solution("acme", products=["token"])
    solution.on("device", "datapoint", lua=SCRIPT)
    solution.route("GET", "/lua", lua='error({"an", "error"})')

    def fail(request: object) -> None:
        raise KeyError(request)

    solution.route("GET", "/python", fail)
    assert [solution.get(path).status_code for path in ("/lua", "/python", "/none")] == [500, 500, 404]
    refused: Mapping[tuple[str, str], dict[str, Any]] = {
        ("Keystore", "get"): {"key": ""},
        ("User", "createUser"): {"email": "no address", "name": "Ann", "password": "correct horse"},
        ("Notify", "listBinding"): {"PageSize": "many"},
    }
    for (service, operation), parameters in refused.items():
        assert solution.call(service, operation, parameters)["status"] == 400


def life() -> None:
    with Lab(seed=7, http_port=0) as lab:
        lab.product("token", auth="token", resources={"message": "string"})
        solutions(lab)
        devices(lab)
        lab.settle()


def test_no_object_of_a_closed_lab_is_alive() -> None:
    life()  # imports and caches of the first use are no leak
    before = alive()
    life()
    after = alive()
    assert after[PLATFORM] == before[PLATFORM]
    assert after - before == Counter()
