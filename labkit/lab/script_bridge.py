"""Functions of a lab and a solution for tests in Lua."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from labkit.core.errors import LabError, LabkitError, unknown
from labkit.core.record_lines import record_line
from labkit.lab.clock import LabClock
from labkit.lab.device import Device, new_device
from labkit.lab.faults import LabFaults
from labkit.lab.journal import LabJournal
from labkit.lab.mailbox import LabMailbox
from labkit.lab.runtime import Runtime
from labkit.lab.services import SolutionCalls
from labkit.lab.websocket import OpenWebsocket
from labkit.script_tests.suite import SERVICE, named, similar

REQUEST = {"headers": "headers", "query": "params", "json": "json", "body": "content", "form": "data"}
FAILED = 500  # the least status of a run that failed
REFUSED = 400  # of a call that a service refused
WEBSOCKET = ("headers", "query", "protocols")


class TestedLab:
    """The part of a lab that tests in Lua use: clock, journal, mailbox, faults and a few calls."""

    __test__ = False  # no class of tests for pytest

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.clock = LabClock(runtime)
        self.journal = LabJournal(runtime)
        self.mailbox = LabMailbox(runtime)
        self.faults = LabFaults(runtime)

    def keep_warnings(self) -> None:
        """Show no warnings any more: `take_warnings` returns those from now on."""
        self._runtime.keep_mistakes()
        self._runtime.take_mistakes()

    def take_warnings(self) -> list[str]:
        """Remove and return the warnings about calls of handles and scripts."""
        return self._runtime.take_mistakes()

    def operations(self, solution: str) -> Mapping[str, Collection[str]]:
        """Return the operations that a solution may call, by service."""
        return self._runtime.run(self._runtime.control.services.catalogue, solution)

    def settle(self) -> None:
        """Wait as `Lab.settle` does."""
        self._runtime.run(self._runtime.control.lab.settle)

    def restart(self) -> None:
        """Restart the platform as `Lab.restart` does."""
        self._runtime.run(self._runtime.control.lab.restart, 0)

    def device(self, product: str, identity: str) -> Device:
        """Return a device of a product. Raises UnknownError."""
        return new_device(
            self._runtime, self._runtime.run(self._runtime.control.products.get, product), identity
        )

    def service(self, name: str, **functions: Callable[..., object]) -> None:
        """Add a service as `Lab.service` does."""
        self._runtime.run(self._runtime.control.functions.service, name, functions)


class Bridge:
    """The calls of one test: `lab.…`, `solution.…`, and operations of services as the solution's scripts see them."""

    def __init__(self, lab: TestedLab, solution: SolutionCalls) -> None:
        self._lab = lab
        self._solution = solution
        self._devices: dict[tuple[str, str | None], Device] = {}
        self._sockets: list[OpenWebsocket] = []
        self._calls: dict[str, list[dict[str, Any]]] = {}  # of stubs, by service
        self.warnings: list[str] = []  # about calls, with their places
        self.refused: list[str] = []  # calls of services that the test made, with their places

    def ask(self, service: str, operation: str, given: Any) -> object:
        """Make a call and return its result; for `lab` and `solution`, a table with `value` or `problem`.

        given: arguments of a service; of `lab` and `solution`, a table with `arguments` and the `place` of the call.
        """
        if service != SERVICE:
            return self.do_call(service=service, operation=operation, given=given)
        if not isinstance(given, dict) or "place" not in given:
            raise LabError(f"there is no service {SERVICE!r}: tests call functions of lab and solution")
        place, arguments = given["place"], given.get("arguments") or {}
        known = {
            name.removeprefix("do_"): getattr(self, name) for name in dir(self) if name.startswith("do_")
        }
        if operation == "similar":
            return similar(arguments)
        try:
            value = known[operation](**arguments)
            if operation == "call" and isinstance(value, dict) and {"error", "status"} <= value.keys():
                call = f"{arguments['service']}.{arguments['operation']}"
                self.refused.append(f"{place}: {call}: {value['status']} {value['error']}")
            return {"value": value}
        except LabkitError as error:
            return {"problem": str(error)}
        except TypeError as error:
            return {"problem": f"{operation}: {error}"}
        finally:
            self.warnings += [f"{place}: {text}" if place else text for text in self._lab.take_warnings()]

    def do_call(self, *, service: str, operation: str, given: Any = None) -> object:
        """Call an operation of a service, and return its result or the error object."""
        if isinstance(given, str):
            given = named(service, operation, given)
        return self._solution.call(service, operation, given if isinstance(given, dict) else {})

    def do_request(self, *, method: str, path: str, options: Any) -> dict[str, Any]:
        """Send a request to the solution. Return `status`, `headers`, `body`, and `json` if it is."""
        given = _options("request", options, REQUEST)
        response = self._solution.request(
            method, path, **{REQUEST[name]: value for name, value in given.items()}
        )
        answer: dict[str, Any] = {
            "status": response.status_code,
            "headers": dict(response.headers),
            "body": response.content.decode("utf-8", "surrogateescape"),
        }
        with suppress(ValueError):
            answer["json"] = response.json()
        return answer

    def do_open(self, *, path: str, options: Any) -> dict[str, Any]:
        """Open a websocket to the solution. Return its `number` and `subprotocol`."""
        given = _options("websocket", options, WEBSOCKET)
        if query := given.pop("query", {}):
            path += ("&" if "?" in path else "?") + urlencode(query, doseq=True)
        socket = self._solution.websocket(path, **given)
        self._sockets.append(socket)
        return {"number": len(self._sockets) - 1, "subprotocol": socket.subprotocol}

    def do_send(self, *, number: int, message: object) -> None:
        """Send a text, or a table as JSON, on a websocket."""
        self._sockets[number].send(message)

    def do_receive(self, *, number: int) -> str | bytes:
        """Return the next message of a websocket."""
        return self._sockets[number].receive()

    def do_messages(self, *, number: int) -> list[str | bytes]:
        """Return the messages of a websocket that have come and were not read."""
        return self._sockets[number].messages()

    def do_close(self, *, number: int, code: int = 1000) -> None:
        """Close a websocket, and wait until the solution has handled that."""
        self._sockets[number].close(code)
        self._lab.settle()

    def do_logs(self) -> list[str]:
        """Return the lines that the solution's scripts printed, oldest first."""
        lines = self._solution.logs
        return list(lines[lines.level != "run"].text)

    def do_advance(self, **time: float) -> None:
        """Move the lab's clock by seconds, minutes, hours and days."""
        self._lab.clock.advance(**time)

    def do_now(self) -> float:
        """Return the lab's time in Unix seconds."""
        return self._lab.clock.time

    def do_settle(self) -> None:
        """Wait until each request is answered and each event handled."""
        self._lab.settle()

    def do_restart(self) -> None:
        """Restart the platform."""
        self._lab.restart()

    def do_mails(self) -> list[dict[str, Any]]:
        """Return the mails that were sent, oldest first."""
        return [
            {
                "to": list(each.recipients),
                "from": each.sender,
                "subject": each.subject,
                "text": each.text,
                "html": each.html,
                "links": list(each.links),
            }
            for each in self._lab.mailbox
        ]

    def do_journal(self, *, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the journal's records, of one kind or of all, oldest first."""
        return [
            {
                "kind": each.kind,
                "actor": each.actor,
                "summary": each.summary,
                "status": each.status,
                "detail": each.detail,
            }
            for each in self._lab.journal.select(kind)
        ]

    def do_stub(self, *, service: str, operations: Mapping[str, Any]) -> None:
        """Add a service that the lab lacks. operations: the result of each; `do_calls` returns the calls of them."""

        def operation(name: str, result: object) -> Callable[..., object]:
            def call(**arguments: Any) -> object:
                self._calls[service].append({"operation": name, "arguments": arguments})
                return result

            return call

        self._calls[service] = []
        self._lab.service(service, **{name: operation(name, result) for name, result in operations.items()})

    def do_calls(self, *, service: str) -> list[dict[str, Any]]:
        """Return the calls of a stub, oldest first: `operation` and `arguments`."""
        if service not in self._calls:
            if service in self._lab.operations(self._solution.id):
                way = (
                    "lab.stub replaces one of lab.yaml, and lab.journal('call') has the calls of all services"
                )
                raise LabError(f"lab.calls: {service} is no stub of this test; {way}")
            raise LabError(f"lab.calls: {unknown('stub', service, self._calls)}; lab.stub adds one")
        return self._calls[service]

    def do_fault(self, *, where: str, settings: Mapping[str, Any]) -> str:
        """Add a fault, and return its name."""
        return self._lab.faults.add(where, **settings).info.name

    def do_remove_fault(self, *, name: str) -> None:
        """Remove a fault."""
        self._lab.faults.remove(name)

    def do_device(self, *, identity: str, product: str | None = None) -> None:
        """Activate a device of the solution's product, or of the named one."""
        key = (identity, product)
        if key not in self._devices:
            ids = self._solution.products
            if product is None and len(ids) != 1:
                raise LabError(f"device: name the product, one of: {', '.join(ids) or 'none'}")
            self._devices[key] = self._lab.device(product or ids[0], identity).activate()

    def do_write(self, *, identity: str, values: Mapping[str, Any], product: str | None = None) -> None:
        """Write values of a device's resources, and wait until the solution has handled them."""
        self._devices[identity, product].write(values)
        self._lab.settle()

    def do_read(self, *, identity: str, aliases: list[str], product: str | None = None) -> dict[str, str]:
        """Return the values of a device's resources as texts."""
        return self._devices[identity, product].read(*aliases)


def _options(word: str, given: Any, known: Collection[str]) -> dict[str, Any]:
    """Return the options of a request. Raises LabError for an unknown one, and for a table where one is expected."""
    options = dict(given) if isinstance(given, dict) else {}
    for name, value in options.items():
        if name not in known:
            raise LabError(unknown(f"option of a {word}", name, known))
        if name in {"headers", "query", "form"} and not isinstance(value, dict):
            raise LabError(f"{name}: expected a table with names and values, not {value!r}")
        if name == "headers":
            options[name] = {key: str(each) for key, each in value.items()}
        if name == "body" and not isinstance(value, str | bytes):
            raise LabError(f"body: expected a text, not {value!r}; json = {{…}} sends a table as JSON")
        if name == "protocols":
            options[name] = [value] if isinstance(value, str) else list(value)
    return options


def script_errors(solution: SolutionCalls) -> tuple[str, ...]:
    """Return the errors of a solution's scripts that failed, and of answers that cannot be sent, oldest first."""
    logs = solution.logs
    failed = logs[logs.status >= FAILED]
    return tuple(
        f"{run}: {text}".removeprefix(": ") for run, text in zip(failed.run, failed.text, strict=True)
    )


def refused_calls(lab: TestedLab, solution: SolutionCalls) -> tuple[str, ...]:
    """Return the calls of a solution's scripts that services refused, oldest first."""
    runs = {each.sequence: each.summary for each in lab.journal.select("script")}
    return tuple(
        f"{runs[each.cause]}: {record_line(each).removeprefix('call ')}"
        for each in lab.journal.select("call")
        if each.cause in runs and each.actor == solution.id and (each.status or 0) >= REFUSED
    )
