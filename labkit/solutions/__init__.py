"""Solutions: what a customer's Lua scripts and Python functions do on the platform.

folder     a solution folder, read (with project and scripts: its settings file and its headers)
routes     which route a method and a path mean
request    what a route's script sees; response: what its outcome becomes; cors: for whom
events     which handler an event means, and what it is given
functions  Python handlers; lua: Lua handlers
proxy      services by attribute, for Python
solution   one solution; solutions: all of a lab; site: its host; delivery: which handlers an event goes to
"""
