"""Code mutants of websockets, for faults that no fault row can express."""

from __future__ import annotations

import itertools
from typing import Any

from labkit.conformance.breaking import change_result
from labkit.conformance.mutant import patch

NUMBERS = itertools.count()
INFO = "labkit.solutions.web.websocket_info:WebsocketInfo.at"


@patch("SOL-WS-2", INFO)
def close_is_data(original: Any, self: Any, type: str, message: Any) -> Any:
    """the script learns of the end as of a message"""
    return original(self, "data" if type == "close" else type, message)


@patch("SOL-WS-2", INFO)
def no_headers(original: Any, self: Any, type: str, message: Any) -> Any:
    """the script sees no headers"""
    info = original(self, type, message)
    info.headers = {}
    return info


@patch("SOL-WS-2", "labkit.solutions.websockets:SolutionWebsocket.queue")
def side_by_side(original: Any, self: Any, step: str) -> None:
    """messages of one websocket are handled side by side"""
    self._owner.context.events.queue(
        f"websocket/{self.id}/{next(NUMBERS)}", self.solution, self._handle, step
    )


@patch("SOL-WS-2 SOL-WS-6", "labkit.solutions.websockets:SolutionWebsocket.queue")
def no_end(original: Any, self: Any, step: str) -> None:
    """no script runs for the end"""
    if step != "close":
        original(self, step)


@patch("SOL-WS-3", "labkit.solutions.scripted:SocketHandler.__call__")
async def response_first(original: Any, self: Any, arguments: Any, run: Any) -> Any:
    """response.message takes precedence over the returned value"""
    result = await original(self, arguments, run)
    return arguments["response"].message or result


@patch("SOL-WS-3", "labkit.http.websocket:WebSocketLink.next")
async def odd_lost(original: Any, self: Any) -> Any:
    """a message ends at its first NUL"""
    message = await original(self)
    return message.partition("\0" if isinstance(message, str) else b"\0")[0]


@patch("SOL-WS-5", "labkit.services.websocket.service:Websocket.find")
def of_all_solutions(original: Any, self: Any, caller: Any, id: str) -> Any:
    """a solution reaches the websockets of all"""
    for sockets in self._open.values():
        if id in sockets:
            return sockets[id]
    return original(self, caller, id)


@patch("SOL-WS-6", "labkit.solutions.solution:PlatformSolution.handle_websocket")
async def fails_aloud(original: Any, self: Any, route: Any, info: Any, cause: int) -> Any:
    """the error of a script is sent to the client"""
    result = await original(self, route, info, cause)
    return "error" if info.message == "error" else result


@patch("SOL-WS-8", "labkit.http.frame_bounds:FrameBounds.follow")
def unmasked_read(original: Any, self: Any, data: bytes, *_: int) -> int:
    """frames without a mask are read"""
    return len(data)


@patch("SOL-WS-9", "labkit.solutions.websockets:SolutionWebsocket.record")
def no_messages(original: Any, self: Any, what: str, message: Any) -> int:
    """the journal has no messages"""
    return int(self._upgrade)


@patch("SOL-WS-10", "labkit.services.websocket.service:Websocket.count", alone=True)
def without_bound(original: Any, self: Any, solution: str) -> int:
    """a solution may have any number of websockets"""
    return 0


@patch("SOL-WS-10", "labkit.services.websocket.service:Websocket.count")
def bound_of_all(original: Any, self: Any, solution: str) -> int:
    """the websockets of all solutions count"""
    return sum(map(len, self._open.values()))


@patch("SOL-WS-10", "labkit.services.websocket.service:Websocket.remove", alone=True)
def ended_counted(original: Any, self: Any, socket: Any) -> None:
    """websockets that have ended count"""


@patch("SOL-WS-11", "labkit.solutions.lua.runtime:LuaState.load", alone=True, from_start=True)
def unseen_by_modules(original: Any, self: Any, number: int, script: Any) -> None:
    """modules do not see the websocket"""
    script.globals = ()
    original(self, number, script)


@patch("SOL-WS-11", "labkit.solutions.lua.runtime:LuaState.load", alone=True, from_start=True)
def seen_by_one_name(original: Any, self: Any, number: int, script: Any) -> None:
    """modules see the websocket by its older name alone"""
    script.globals = script.globals[:1]
    original(self, number, script)


upgrade_unnamed = patch(
    "SOL-WS-1", "labkit.http.websocket:refused_upgrade", "an answer 426 does not say to what"
)(change_result(lambda headers: {}))


@patch("SOL-WS-2", "labkit.solutions.websockets:SolutionWebsocket.ended")
def abrupt_end_missed(original: Any, self: Any, code: int, reason: str, quiet: bool) -> None:
    """no script runs for a connection that ends without a close frame"""
    original(self, code, reason, quiet or code == 1006)


@patch("SOL-WS-12", INFO.replace("at", "table"))
def raw_bytes(original: Any, self: Any) -> Any:
    """bytes of a message come to scripts as they are"""
    return {**original(self), "message": self.message}


@patch("SOL-WS-14", INFO)
def untyped(original: Any, self: Any, type: str, message: Any) -> Any:
    """websocketInfo has no message_type"""
    info = original(self, type, message)
    info.message_type = None
    return info
