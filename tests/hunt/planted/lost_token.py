"""Planted bug: a token lost at a restart. A solution keeps its token for a hub in a global of its scripts."""

from __future__ import annotations

from typing import Any

from labkit import Lab, ServiceError
from labkit.hunt import Draw, no_script_failed, story
from tests.hunt.planted.parts import Harm, Meter, finish, repeated, unharmed

CONNECT_BROKEN = "token = Hub.signIn{}.token"
CONNECT_MENDED = 'Keystore.set{key = "token", value = Hub.signIn{}.token}'
FORWARD_BROKEN = 'if token then Hub.put{token = token, kwh = data.value[2]} else error("not connected") end'
FORWARD_MENDED = """
local token = Keystore.get{key = "token"}.value
if token then Hub.put{token = token, kwh = data.value[2]} else error("not connected") end"""


PROMISE = no_script_failed(under=("platform", "order", "events", "request delay", "call delay"))


@story(promises=[PROMISE])
def lost_token(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Connect a solution to a hub, once, then forward what devices write.

    Promise: once the person has the answer that the solution is connected, no script fails. Holds under restarts,
    overlap, doubled, late and lost events, and delays of any kind; not under error answers at service calls.
    """
    product = lab.product("meter", resources={"kwh": "number"})
    tokens: set[str] = set()

    def sign_in() -> dict[str, str]:
        tokens.add(token := f"token-{len(tokens) + 1}")
        return {"token": token}

    def put(token: str, kwh: Any) -> None:
        if token not in tokens:
            raise ServiceError(401, "unknown token")

    lab.service("Hub", signIn=sign_in, put=put)
    app = lab.solution("app", products=[product])
    app.route("POST", "/connection", lua=CONNECT_MENDED if mended else CONNECT_BROKEN)
    app.on("device", "datapoint", lua=FORWARD_MENDED if mended else FORWARD_BROKEN)
    fleet = product.fleet(draw.number(1, 3), Meter)
    harm(lab, fleet)
    repeated(lab, lambda: app.post("/connection"))
    fleet.start(minutes=15, transport="memory").wait()
    finish(lab)
