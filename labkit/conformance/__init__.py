"""Conformance: the requirements of the documents, the checks that test them, and the faults that prove the checks.

device/ keystore/ solutions/ tsdb/ timeseries/ user/ notify/ interface/
                an area each, with the statements of a document, and for each of its parts:
                requirements.toml   the requirements that labkit derives from the statements and tests
                checks.py           checks, which create one situation each and compare
                faults.toml         faults of a lab that make checks fail, one per row
                mutants.py          likewise in code, for faults that no row can express
areas           finds all of these
catalogue       reads statements and requirements (files by `entries`); `listing` prints them, `coverage` relates them
                to checks and mutants
check           declares a check; `runner` runs it, `verdict` is its result
target          what checks run against: a lab of lab.yaml in this process, or a platform elsewhere
fixtures/       files of lab.yaml beside the examples of the notebooks: content, the probe, a route to call operations
expect          compares answers
device_client, endpoints, raw   clients of the device API
probe, users, roles         clients of services through the probe: any, User, roles and permissions
notifications               client of Notify, and of the messaging provider that it sends by
jwts                        JSON web tokens without a library
guide                       client of the solution of the guides
user/oauth/client, steps    client of the OAuth provider, and steps that its checks share
user/oauth/attacks/         attacks on the OAuth provider as data, for checks, tests and notebooks

mutant          the class of mutants, and how to declare those in code; `rows` reads the others; tests run them
breaking        building blocks of mutants in code
fork_server     starts processes that are ready at once, for the areas of a report (`processes`) and the kernels of its
                notebooks, from a process that has imported and prepared a module (`fork_loop`), such as `preload`
"""
