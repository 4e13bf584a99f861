"""Solutions: what a customer's Lua scripts and Python functions do on the platform.

folder     a solution folder, read (with project and scripts: its settings file and its headers)
routes     which route a method and a path mean
request    what a route's script sees; response: what its outcome becomes; cors: for whom
events     which handler an event means, and what it is given
functions  Python handlers; lua: Lua handlers
proxy      services by attribute, for Python
solution   one solution; solutions: all of a lab; site: its host; delivery: which handlers an event goes to

Each run of a Lua script has its globals and modules to itself, also while it waits for a service; runs that do not
overlap get the same ones, so a global lives on from run to run. A run may compute for 2 s between two service calls
(`guard.script_cpu` in lab.yaml) while others go on, and its globals may hold 64 MiB; 64 runs of a solution may be under
way at once, more of them wait (`guard.scripts`). A run of any handler, Lua or Python, is ended with 504 after 30 s of
real time in which no lab time holds it (`guard.script_time`). No Python thread can be ended from outside: a sync
function is left to itself then, and may call no service any more. It leaves 10,000 records in the journal at most
(`journal.per_run`), and one that counts the rest. `math.random` cannot be guessed, or comes from the lab's seed. An
empty Lua table is `{}` in JSON; `setmetatable({}, {__type = "slice"})` is `[]`, and lists that came from JSON or a
service stay lists.
"""
