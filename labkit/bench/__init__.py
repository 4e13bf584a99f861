"""Measures, each as a ratio to a reference that runs beside it.

measures   what is measured and what is asked of it
rounds     rounds that alternate between the lab and its reference, and their medians
server     the server process: the lab, or the reference
load       the load process: many keep-alive connections that cost little
calls      the process that measures calls within itself, without HTTP
users      which calls of the User service, and their baselines
fixture    the User service that they are made to
baseline   the least that must be done for a token
polls      thousands of long polls, held and woken
fleets     what fleets cost, in processes of their own: fleet_load, locust_load (its reference), simulated
control    how the bench talks to all of these
"""
