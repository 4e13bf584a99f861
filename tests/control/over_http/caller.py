"""Client of control over HTTP for tests, which uses no types of labkit."""

from __future__ import annotations

from typing import Any

import httpx


class Caller:
    """Caller of operations by key and plain arguments."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def post(self, key: str, /, **arguments: Any) -> httpx.Response:
        """Return the answer to a call: `post("products.get", id="t")`."""
        return await self.client.post(f"/v1/{key.replace('.', '/')}", json=arguments)

    async def result(self, key: str, /, **arguments: Any) -> Any:
        """Return the result of a call that is not refused."""
        answer = await self.post(key, **arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def refused(self, key: str, /, **arguments: Any) -> tuple[int, str]:
        """Return status and detail of a call that is refused."""
        answer = await self.post(key, **arguments)
        assert answer.headers["Content-Type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == answer.status_code
        return answer.status_code, problem["detail"]
