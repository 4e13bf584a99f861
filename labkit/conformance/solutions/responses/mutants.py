"""Faults of responses: what the outcome of a script becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aiohttp import web

from labkit.conformance.mutant import mutant
from labkit.conformance.solutions.errors.mutants import environment
from labkit.solutions.response import ReplyError, Response

REPLY = "labkit.solutions.response:reply"
TAKE = "labkit.solutions.response:Response.take"
ENCODE = "labkit.solutions.response:encode"


@mutant("SOL-RESP-1 SOL-MET-1", ENCODE)
def wrapped(original: Any) -> Any:
    """a table is sent within another one"""
    return lambda value: original({"result": value})


@mutant("SOL-RESP-1", ENCODE)
def python_text(original: Any) -> Any:
    """a table is sent in a form that is not JSON"""
    return lambda value: repr(value).encode()


@mutant("SOL-RESP-1", REPLY)
def accepted(original: Any) -> Any:
    """a table is sent with status 202"""

    def broken(result: Any, response: Response) -> web.Response:
        if isinstance(result, dict | list):
            response = replace(response, code=202)
        made: web.Response = original(result, response)
        return made

    return broken


@mutant("SOL-RESP-1 SOL-MET-1 SOL-RESP-5", REPLY)
def always_text(original: Any) -> Any:
    """everything is sent as text/plain"""

    def broken(result: Any, response: Response) -> web.Response:
        made: web.Response = original(result, response)
        made.headers["Content-Type"] = "text/plain; charset=utf-8"
        return made

    return broken


@mutant("SOL-RESP-2", TAKE)
def code_ignored(original: Any) -> Any:
    """response.code is not heeded"""
    return _left(original, lambda table: table | {"code": 200})


@mutant("SOL-RESP-2", TAKE)
def body_ignored(original: Any) -> Any:
    """response.body is not heeded"""
    return _left(original, lambda table: table | {"body": None})


@mutant("SOL-RESP-3", TAKE)
def body_wins(original: Any) -> Any:
    """response.body wins over message"""
    return _left(original, lambda table: table | {"message": table.get("body") or table.get("message")})


@mutant("SOL-RESP-3", REPLY)
def set_wins(original: Any) -> Any:
    """what is set wins over what is returned"""

    def broken(result: Any, response: Response) -> Any:
        return original(result if response.message is None else None, response)

    return broken


@mutant("SOL-RESP-4 SOL-RESP-7", "labkit.solutions.response:response_headers")
def headers_lost(original: Any) -> Any:
    """headers that a script sets are not sent"""
    return lambda given: iter(())


@mutant("SOL-RESP-6", REPLY)
def nothing_is_204(original: Any) -> Any:
    """nothing at all is answered 204"""

    def broken(result: Any, response: Response) -> Any:
        if (result, response.message, response.body) == (None, None, None):
            return web.Response(status=204)
        return original(result, response)

    return broken


@mutant("SOL-RESP-8", "labkit.solutions.response:response_status")
def any_code(original: Any) -> Any:
    """a code that is no status counts as 200"""

    def broken(code: Any) -> Any:
        try:
            return original(code)
        except ReplyError:
            return 200

    return broken


@mutant("SOL-RESP-9", REPLY)
def errors_decide(original: Any) -> Any:
    """an error object decides the status"""

    def broken(result: Any, response: Response) -> Any:
        if isinstance(result, dict) and "error" in result and "status" in result:
            response = replace(response, code=result["status"])
        return original(result, response)

    return broken


@mutant("SOL-JSON-1 SOL-MET-5", ENCODE)
def empty_objects(original: Any) -> Any:
    """an empty list is sent as {}"""
    return lambda value: original(_without_lists(value))


@mutant("SOL-JSON-2", "labkit.solutions.lua.runtime:Runtime.library", from_start=True)
def no_json_library(original: Any) -> Any:
    """json.parse and json.stringify do nothing"""

    def less(lua: Any, env: Any) -> None:
        env[b"json"] = lua.eval(b"{parse = function() end, stringify = function() end}")

    return environment(original, less)


def _without_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_lists(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_lists(each) for each in value] or {}
    return value


def _left(original: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Change what a script left in its response."""

    def broken(self: Response, table: Any) -> None:
        original(self, change(table) if isinstance(table, dict) else table)

    return broken
