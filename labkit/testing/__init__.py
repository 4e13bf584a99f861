"""A pytest plugin: labs, servers and clients' settings as fixtures, journals in reports, requirements as tests.

pytest loads `labkit.testing.plugin` in every session, since the package has it as an entry point. It imports the rest
of labkit only in fixtures that are used, and in reports of tests that used a lab.
"""
