"""A publisher, and its view of a subscriber."""

from __future__ import annotations

from typing import Any

from tests.services.interface.environment import Environment

LIGHTS = {
    "parameters": [
        {"name": "region", "default": "north"},
        {"name": "count", "type": "integer"},
        {"name": "secret", "restricted": True},
    ],
    "operations": [{"name": "echo", "script": "return event"}],
    "events": [{"name": "changed", "default_script": "return {'default', event}"}],
}
NOT_FOUND = {"type": "QueryError", "error": "service not found", "status": 404, "status_code": 404}


async def subscriber(env: Environment, id: str = "home", publisher: str = "lights") -> Any:
    answer = await env.call(publisher, "Interface.getSubscriber", subscriber_id=id)
    return None if "error" in answer else answer
