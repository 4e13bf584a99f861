"""Parameters configured for a service of a solution, which are the defaults of its calls."""

from __future__ import annotations

from labkit.conformance.check import check
from labkit.conformance.probe import same
from labkit.conformance.target import Target
from labkit.lab.solution import Solution

Configured = dict[str, object]

CALLS = """
Keystore.set{key = "plain", value = "%s, plain"}
Keystore.set{key = "other", value = "%s, other"}
return {left = Keystore.get{}, named = Keystore.get{key = "plain"}, keys = Keystore.list{}}
"""


@check(
    "SOL-SVC-5",
    "calls of scripts that are alike, in solutions that configure other defaults",
    needs={"settings"},
)
async def defaults(target: Target) -> None:
    await target.in_lab(_defaults, target)


def _defaults(target: Target) -> None:
    configured: tuple[Configured, ...] = (
        {"key": "plain", "match": "pla", "nonsense": True},
        {},
        {"key": "other", "match": "oth"},
    )
    solutions = [target.lab.solution(target.identity(), services={"Keystore": each}) for each in configured]
    for each in solutions:
        each.route("GET", "/calls", lua=CALLS % (each.id, each.id))
    for _ in range(2):  # the second time all of these calls are cached
        for each, given in zip(solutions, configured, strict=True):
            _calls(each, given)
        solutions.reverse()
        configured = configured[::-1]
    without = solutions[1]
    changes: list[Configured] = [{"key": "other"}, {"key": "plain", "match": "la"}, {"match": ""}]
    for set_ in changes:
        without.Config.setParameters(service="Keystore", parameters=set_)
        given = without.Config.getParameters(service="Keystore")["parameters"]
        _calls(without, given)


def _calls(solution: Solution, configured: Configured) -> None:
    found = solution.get("/calls").json()
    key, match = configured.get("key"), str(configured.get("match", ""))
    wanted = {} if key is None else {"value": f"{solution.id}, {key}"}
    left = {name: found["left"].get(name) for name in wanted}
    same(f"what get without a key gives where {configured} is configured", left, wanted)
    same("is it an error?", "error" in found["left"], key is None)
    same("what get of a key gives", found["named"], {"value": f"{solution.id}, plain"})
    keys = sorted(each for each in ("other", "plain") if match in each)
    same(f"the keys that list gives where {configured} is configured", sorted(found["keys"]["keys"]), keys)


TELL = """
local told = {service.service, service.action, service.solution_id}
Keystore.command{key = "told", command = "rpush", args = {table.concat(told, " ")}}
"""


@check("SOL-SVC-25", "an event for each change of parameters, and for no other call", needs={"settings"})
async def changes(target: Target) -> None:
    await target.in_lab(_changes, target)


def _changes(target: Target) -> None:
    lamps, hall = (target.lab.solution(target.identity().replace("-", "")) for _ in range(2))
    lamps.publish(name="Lamps", parameters=[{"name": "own"}])
    hall.subscribe(lamps, script_key="lamps")
    hall.on("config", "service", lua=TELL)
    for service, given in (("KeyStore", {"match": "a"}), ("keystore", {}), ("Keystore", {"match": "a"}), ("Timer", 1),
                           ("Lamps", {"own": "b"}), ("Lamps", {"own": "b"}), ("Keystore", {"match": "b"})):  # fmt: skip
        hall.call("Config", "setParameters", {"service": service, "parameters": given})
    target.lab.settle()
    told = hall.Keystore.command(key="told", command="lrange", args=[0, -1])["value"]
    same("told", told, [f"{key} updated {hall.id}" for key in ("keystore", "lamps", "keystore")])
