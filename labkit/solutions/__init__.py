"""Solutions: a customer's Lua scripts and Python functions, which handle requests and events on the platform.

folder     reader of a solution folder (project: its settings file; scripts: headers in Lua files)
routes     lookup of a route by method and path
request    the request as a route's handler gets it; response: HTTP response of a handler; cors: cross-origin requests
events     lookup of an event's handler, and names of the handler's arguments
functions  Python handlers; scripted, lua: Lua handlers
proxy      services by attribute, for Python
solution   one solution; solutions: all of a lab; site: a solution's host; delivery: handlers that receive an event

Each run of a Lua script has globals and modules of its own, also while it waits for a service; runs that do not
overlap share them, so a global lives on from run to run. A run may compute for 2 s between two service calls
(`guard.script_cpu` in lab.yaml) while other runs continue, and its globals may occupy 64 MiB; 64 runs of a solution may
be active at once, further ones wait (`guard.scripts`). A run of any handler, Lua or Python, ends with 504 after 30 s of
real time, not counting waits for lab time (`guard.script_time`). No Python thread can be ended from outside: a sync
function then runs on, but may call no service any more. A run writes at most 10,000 records to the journal
(`journal.per_run`), and one that counts the rest. `math.random` cannot be guessed, or comes from the lab's seed. An
empty Lua table is `{}` in JSON; `setmetatable({}, {__type = "slice"})` is `[]`, and lists that came from JSON or a
service stay lists.
"""
