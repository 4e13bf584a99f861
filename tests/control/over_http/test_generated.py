"""Requests that schemathesis generates from the OpenAPI document: each gets an answer that the document describes.

The served lab has a product `a` and a solution `a`, which half of the requests name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import Case
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation

from labkit.control.over_http.operations import operations
from tests.guard import PATIENCE
from tests.sizes import size

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from

FITTING = size(2, 25)  # requests to each operation that match its schema
OTHERS = size(1, 10)
# A clock may be advanced by years, a run may have ten thousand devices: such a request ends with its client.
LEFT_OUT = {each.path for each in operations().values() if each.waits or each.streams} | {"/v1/fleets/run"}
EXISTING = {"product": "a", "solution": "a", "id": "a", "alias": "t", "where": "POST /onep:v1/stack/alias"}
load_all_checks()
# A request may match its schema and be refused, such as for a name that is taken; and a body that is left out is `{}`.
UNCHECKED = {"positive_data_acceptance", "negative_data_rejection"}
CHECKED: Any = [CHECKS.get_one(each) for each in CHECKS.get_all_names() if each not in UNCHECKED]


@pytest.mark.sampled
@pytest.mark.timeout(size(300, 3000))
def test_each_answer_to_generated_requests_is_described(served_control: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {served_control['token']}"}
    served: Any = schemathesis.openapi.from_url(f"{served_control['url']}/openapi.json", headers=headers)
    with requests.Session() as session:
        session.headers.update(headers)
        statuses: Counter[int] = Counter()
        for found in served.get_all_operations():
            operation = found.ok()
            if operation.path not in LEFT_OUT:
                play(operation, session, statuses)
    assert statuses[200] > 100
    assert {400, 403, 404, 422} <= statuses.keys()
    assert max(statuses) < 500, statuses


def likely(body: Any) -> Any:
    """Return a generated body with names of what the lab has, in place of those of even length."""
    if isinstance(body, dict):
        return {key: EXISTING[key] if is_name(key, each) else likely(each) for key, each in body.items()}
    if isinstance(body, list):
        return [likely(each) for each in body]
    # JSON Schema counts 2.0 among the integers, which no client sends for one
    return int(body) if isinstance(body, float) and body.is_integer() else body


def is_name(key: str, value: Any) -> bool:
    return key in EXISTING and isinstance(value, str) and len(value) % 2 == 0


def play(
    operation: APIOperation[Any, Any, Any, Any], session: requests.Session, statuses: Counter[int]
) -> None:
    """Send requests to an operation and check the answers. statuses: counts them."""

    def check(case: Case[Any]) -> None:
        with suppress(requests.ReadTimeout):
            answer = case.call(session=session, timeout=PATIENCE)
            statuses[answer.status_code] += 1
            case.validate_response(answer, checks=CHECKED, transport_kwargs={"session": session})

    def check_fitting(case: Case[Any]) -> None:
        case.body = likely(case.body)
        check(case)

    headers = dict(session.headers)
    generate(operation.as_strategy(GenerationMode.POSITIVE, headers=headers), FITTING, check_fitting)
    if operation.body:
        generate(operation.as_strategy(GenerationMode.NEGATIVE, headers=headers), OTHERS, check)


def generate(cases: SearchStrategy[Case[Any]], count: int, check: Callable[[Case[Any]], None]) -> None:
    """Call a function with generated requests."""
    chosen = settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    seed(1)(chosen(given(cases)(check)))()
