"""Faults in what a publisher finds of its subscribers, and changes."""

from __future__ import annotations

import itertools
from typing import Any

from labkit.conformance.faults import CALL, failed, given, gives
from labkit.conformance.mutant import mutant
from labkit.services.calls import Services
from labkit.services.operation import Caller

NIL_ID = "00000000-0000-0000-0000-000000000000"


def _subscribers(original: Any, change: Any) -> Any:
    """Change each subscriber that Interface gives."""

    def changed(operation: str, result: Any) -> Any:
        if failed(result) or operation not in ("getSubscriber", "listSubscribers"):
            return result
        if operation == "getSubscriber":
            return change(result)
        return {**result, "items": [change(each) for each in result["items"]]}

    return gives(original, "Interface", changed)


@mutant("IFC-SUB-1", CALL)
def ids_that_count(original: Any) -> Any:
    """the id of a subscriber is its solution's"""
    return _subscribers(original, lambda each: {**each, "id": each["solution_id"]})


@mutant("IFC-SUB-1", CALL)
def one_id(original: Any) -> Any:
    """all subscribers have the same id"""
    return _subscribers(original, lambda each: {**each, "id": NIL_ID})


@mutant("IFC-SUB-1", CALL)
def ids_anew(original: Any) -> Any:
    """a subscriber has another id each time"""
    count = itertools.count(1)
    return _subscribers(original, lambda each: {**each, "id": f"{NIL_ID[:24]}{next(count):012x}"})


@mutant("IFC-SUB-2", CALL)
def no_quota(original: Any) -> Any:
    """a subscriber without a quota has none in its fields"""
    return _subscribers(original, lambda each: {**each, "quota": each["quota"] or None})


@mutant("IFC-SUB-2", CALL)
def quota_as_text(original: Any) -> Any:
    """the numbers of a quota are texts"""
    return _subscribers(
        original, lambda each: {**each, "quota": {name: str(count) for name, count in each["quota"].items()}}
    )


@mutant("IFC-SUB-2", CALL)
def a_default_quota(original: Any) -> Any:
    """a subscriber without a quota is said to have one"""
    return _subscribers(original, lambda each: {**each, "quota": {"calls_daily": 1000, **each["quota"]}})


@mutant("IFC-SUB-3", CALL)
def no_triggers(original: Any) -> Any:
    """a subscriber's triggers are not given"""
    return _subscribers(original, lambda each: {**each, "triggers": {}})


@mutant("IFC-SUB-3", CALL)
def events_alone(original: Any) -> Any:
    """what else stands in triggers is lost"""
    return _subscribers(
        original,
        lambda each: {
            **each,
            "triggers": {name: to for name, to in each["triggers"].items() if isinstance(to, str)},
        },
    )


@mutant("IFC-SUB-4", CALL)
def no_parameters(original: Any) -> Any:
    """a subscriber's parameters are not given"""
    return _subscribers(original, lambda each: {**each, "parameters": {}})


@mutant("IFC-SUB-4", CALL)
def declared_alone(original: Any) -> Any:
    """parameters that the publisher does not declare are lost"""
    return _subscribers(
        original,
        lambda each: {
            **each,
            "parameters": {name: value for name, value in each["parameters"].items() if name != "note"},
        },
    )


@mutant("IFC-SUB-5", CALL)
def never_updated(original: Any) -> Any:
    """updated_at is the time of creation"""
    return _subscribers(original, lambda each: {**each, "updated_at": each["created_at"]})


@mutant("IFC-SUB-5", CALL)
def created_anew(original: Any) -> Any:
    """created_at is the time of the last change"""
    return _subscribers(original, lambda each: {**each, "created_at": each["updated_at"]})


@mutant("IFC-SUB-5", CALL)
def day_alone(original: Any) -> Any:
    """created_at is a date without a time"""
    return _subscribers(original, lambda each: {**each, "created_at": each["created_at"][:10]})


@mutant("IFC-SUB-6", CALL)
def subscription_as_solution(original: Any) -> Any:
    """solution_id is the id of the subscription"""
    return _subscribers(original, lambda each: {**each, "solution_id": each["id"]})


@mutant("IFC-SUB-6", CALL)
def publisher_as_solution(original: Any) -> Any:
    """solution_id is the publisher"""
    return _subscribers(original, lambda each: {**each, "solution_id": "lights"})


@mutant("IFC-SUB-7", CALL)
def always_hall(original: Any) -> Any:
    """getSubscriber gives hall, whomever it names"""
    return given(
        original,
        "Interface",
        lambda operation, parameters: (
            {**parameters, "subscriber_id": "hall"} if operation == "getSubscriber" else parameters
        ),
    )


@mutant("IFC-SUB-7", CALL)
def in_a_list(original: Any) -> Any:
    """getSubscriber gives a list of one"""
    return gives(
        original,
        "Interface",
        lambda operation, result: [result] if operation == "getSubscriber" and not failed(result) else result,
    )


@mutant("IFC-SUB-7", CALL)
def less_than_listed(original: Any) -> Any:
    """getSubscriber leaves out when it was created"""
    return gives(
        original,
        "Interface",
        lambda operation, result: (
            {name: each for name, each in result.items() if name != "created_at"}
            if operation == "getSubscriber"
            else result
        ),
    )


def _list(original: Any, change: Any) -> Any:
    """Change what listSubscribers gives."""
    return gives(
        original,
        "Interface",
        lambda operation, result: (
            change(result) if operation == "listSubscribers" and not failed(result) else result
        ),
    )


@mutant("IFC-SUB-8", CALL)
def items_alone(original: Any) -> Any:
    """listSubscribers gives a list"""
    return _list(original, lambda result: result["items"])


@mutant("IFC-SUB-8", CALL)
def no_total(original: Any) -> Any:
    """listSubscribers gives no total"""
    return _list(original, lambda result: {"items": result["items"]})


@mutant("IFC-SUB-8", CALL)
def last_one_lost(original: Any) -> Any:
    """listSubscribers leaves out the last"""
    return _list(original, lambda result: {**result, "items": result["items"][:-1]})


@mutant("IFC-SUB-10", CALL)
def total_of_the_page(original: Any) -> Any:
    """total is how many items come"""
    return _list(original, lambda result: {**result, "total": len(result["items"])})


def _requested(original: Any, change: Any) -> Any:
    """Change what listSubscribers is asked."""
    return given(
        original,
        "Interface",
        lambda operation, parameters: change(parameters) if operation == "listSubscribers" else parameters,
    )


@mutant("IFC-SUB-9", CALL)
def no_filter(original: Any) -> Any:
    """listSubscribers does not filter"""
    return _requested(
        original, lambda requested: {name: each for name, each in requested.items() if name != "parameters"}
    )


@mutant("IFC-SUB-9", CALL)
def one_of_the_filter(original: Any) -> Any:
    """of several parameters listSubscribers looks at the last"""
    return _requested(
        original,
        lambda requested: {
            **requested,
            "parameters": dict(list(requested.get("parameters", {}).items())[-1:]),
        },
    )


@mutant("IFC-SUB-10", CALL)
def ten_at_a_time(original: Any) -> Any:
    """listSubscribers gives 10 by default"""
    return _requested(original, lambda requested: {"limit": 10, **requested})


@mutant("IFC-SUB-10", CALL)
def all_at_a_time(original: Any) -> Any:
    """listSubscribers gives all by default"""
    return _requested(original, lambda requested: {"limit": 1000, **requested})


@mutant("IFC-SUB-10", CALL)
def no_offset(original: Any) -> Any:
    """listSubscribers begins at the first"""
    return _requested(original, lambda requested: {**requested, "offset": 0})


@mutant("IFC-SUB-10", CALL)
def any_limit(original: Any) -> Any:
    """a limit above 1000 is taken"""

    def clamped(requested: dict[str, Any]) -> dict[str, Any]:
        limit = requested.get("limit")
        return {**requested, "limit": 1000} if isinstance(limit, int) and limit > 1000 else requested

    return _requested(original, clamped)


@mutant("IFC-SUB-10", CALL)
def no_least_limit(original: Any) -> Any:
    """a limit of 0 is taken"""
    return _requested(
        original, lambda requested: {**requested, "limit": 20} if requested.get("limit") == 0 else requested
    )


@mutant("IFC-SUB-10", CALL)
def fewer_at_most(original: Any) -> Any:
    """a limit of 1000 is refused"""
    return _requested(
        original,
        lambda requested: {**requested, "limit": 1001} if requested.get("limit") == 1000 else requested,
    )


def _set(original: Any, change: Any) -> Any:
    """Change what setSubscriber is asked to set."""
    return given(
        original,
        "Interface",
        lambda operation, parameters: change(parameters) if operation == "setSubscriber" else parameters,
    )


@mutant("IFC-SUB-11", CALL)
def quota_not_set(original: Any) -> Any:
    """setSubscriber sets no quota"""
    return _set(
        original, lambda requested: {name: each for name, each in requested.items() if name != "quota"}
    )


@mutant("IFC-SUB-11", CALL)
def parameters_not_set(original: Any) -> Any:
    """setSubscriber sets no parameters"""
    return _set(
        original, lambda requested: {name: each for name, each in requested.items() if name != "parameters"}
    )


@mutant("IFC-SUB-11", CALL)
def gives_the_subscriber(original: Any) -> Any:
    """setSubscriber gives the subscriber"""

    async def broken(self: Services, caller: Caller, service: str, name: str, parameters: Any = None) -> Any:
        result = await original(self, caller, service, name, parameters)
        if (service, name) != ("Interface", "setSubscriber") or result is not None:
            return result
        requested = {"subscriber_id": parameters["subscriber_id"]}
        return await original(self, caller, service, "getSubscriber", requested)

    return broken
