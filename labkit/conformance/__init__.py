"""Conformance: what the documents ask for, and the proof that a platform does it.

statements/     what the documents say, a file for each
requirements/   what labkit makes of it and tests, a file for an area
catalogue       reads both; `listing` prints them, `coverage` tells what proves what

checks/         play one situation each and compare; declared by `check`, run by `runner`, told of by `verdict`
target          what they run against: a lab of lab.yaml in this process, or a platform elsewhere
solutions/      the solutions of lab.yaml: the probe, and copies of those that notebooks show
expect          compares answers
play, calls, raw            speak to the device API
probe, people, access       speak to services by way of the probe: any, User, roles and permissions
oauth, oauth_requests, jwts the OAuth provider's client, what it asks, and tokens by hand
guide                       the solution of the guides
attacks/        attacks on the OAuth provider as data, for checks, tests and notebooks

mutants/        break the platform, so that checks fail; declared by `mutant`, played by `rehearsal` (and `preload`)
faults          faults that many of them share
"""
