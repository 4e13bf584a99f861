"""Planted bug: an expiry race. A route checks that a session exists, and reads it after it has expired."""

from __future__ import annotations

from functools import partial

from labkit import Lab
from labkit.hunt import Draw, no_script_failed, story
from tests.hunt.planted.parts import Harm, finish, repeated, unharmed, wait_until

LIFETIME = 60  # seconds
SIGN_IN = f"""
Keystore.command{{key = request.body.session, command = "set", args = {{request.body.name, "EX", {LIFETIME}}}}}"""
BROKEN = """
if Keystore.command{key = request.parameters.session, command = "exists"}.value == 0 then
  response.code = 401
  return "sign in again"
end
return "hello " .. Keystore.get{key = request.parameters.session}.value"""
MENDED = """
local name = Keystore.get{key = request.parameters.session}.value
if not name then
  response.code = 401
  return "sign in again"
end
return "hello " .. name"""


PROMISE = no_script_failed(under=("order", "platform", "call delay"))


@story(promises=[PROMISE])
def expiry_race(lab: Lab, draw: Draw, *, mended: bool = False, harm: Harm = unharmed) -> None:
    """Let people sign in and come back every ten seconds.

    Promise: no script fails. Holds under overlap, restarts, and delays of any kind; not under error answers at service
    calls.
    """
    app = lab.solution("app")
    app.route("POST", "/session", lua=SIGN_IN)
    app.route("GET", "/me", lua=MENDED if mended else BROKEN)
    harm(lab, None)
    for person in range(draw.number(1, 3)):
        session = {"session": f"session-{person}", "name": "Ann"}
        began = lab.clock.time
        repeated(lab, partial(app.post, "/session", json=session))
        for number in range(1, 8):
            wait_until(lab, began + 10 * number)
            repeated(lab, partial(app.get, "/me", params={"session": session["session"]}))
    finish(lab)
