"""Solutions: a customer's Lua scripts and Python functions, which handle requests and events on the platform.

folders    what is read of a solution folder; checking: likely mistakes in it
web        what routes work with: requests, responses, documentation; site: a solution's host; websockets: its sockets
events     lookup of an event's handler, and names of the handler's argument
functions  Python handlers; scripted, lua: Lua handlers; workers: threads that run them
proxy      services by attribute, for Python
solution   one solution; solutions: all of a lab; delivery: handlers that receive an event

Concurrent runs of Lua scripts never share globals and modules; a later run may find the globals of an earlier one. A
run may compute for 2 s between two service calls (`guard.script_cpu` in lab.yaml) while other runs continue, and its
globals may occupy 64 MiB. At most 64 runs of a solution are active at once; further runs wait (`guard.scripts`). A run
of any handler, Lua or Python, ends with 504 after 30 s of real time, not counting waits for lab time
(`guard.script_time`). Since a Python thread cannot be ended from outside, a sync function then continues, but its
service calls fail. A run writes at most 10,000 records to the journal (`journal.per_run`), and one more with the number
of omitted records. `math.random` is unpredictable without a seed of the lab, and reproducible with one. An empty Lua
table is `{}` in JSON; `setmetatable({}, {__type = "slice"})` is `[]`, and lists from JSON or from a service stay lists.
"""
