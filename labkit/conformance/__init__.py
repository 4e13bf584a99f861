"""Conformance: what the documents ask for, and the proof that a platform does it.

device/ keystore/ solutions/ user/ notify/ interface/
                an area each, with the statements of a document, and side by side for each of its parts:
                requirements.toml   what labkit makes of the statements and tests
                checks.py           bring about one situation each and compare
                faults.toml         let a lab fail, so that checks fail: a row a fault
                mutants.py          likewise in code, where no row can say it
areas           finds all of these
catalogue       reads statements and requirements (files by `entries`); `listing` prints them, `coverage` tells what
                proves what
check           declares a check; `runner` runs it, `verdict` tells of it
target          what checks run against: a lab of lab.yaml in this process, or a platform elsewhere
fixtures/       what lab.yaml names beside the examples of the notebooks: content, the probe, a route to call operations
expect          compares answers
device_client, endpoints, raw   speak to the device API
probe, users, roles         speak to services by way of the probe: any, User, roles and permissions
notifications               speaks to Notify, and to the messaging provider that it sends by
jwts                        JSON web tokens by hand
guide                       the solution of the guides
user/oauth/client, steps    a client of the OAuth provider, and what checks do with it again and again
user/oauth/attacks/         attacks on the OAuth provider as data, for checks, tests and notebooks

mutant          what a mutant is, and how one in code is declared; `rows` reads the others; tests play them
breaking        what mutants in code are made of
fork_server     starts processes that are ready at once, for the areas of a report (`processes`), from one that has done
                what `preload` does
"""
