"""Benchmarks, each reported as a ratio to a reference that is measured at the same time.

measures   definitions of the measures and their required ratios
rounds     rounds that alternate between the lab and its reference, and their medians
server     the server process: the lab, or the reference
load       the load process: many keep-alive connections at little cost
calls      the process that measures calls within itself, without HTTP
users      calls of the User service, and their baselines
fixture    the User service for these calls
baseline   the minimum of work for a token
starts     starts of a lab and of a device, and a write from a cell
firmware   programs on lab time, which `simulated` plays
polls      thousands of waiting long polls
websockets thousands of open websockets; websocket_load: their client process
fleets     the cost of fleets, in processes of their own: fleet_load, locust_load (its reference), simulated
scaling    operations among N items and ten times as many; stage: such labs; scaling_rows, scaling_stores: rows
control    the protocol between the benchmark and its child processes
"""
