"""Control API of a lab: typed async operations over `Platform`, one module for each subject.

Arguments and results are plain data, and `over_http` offers the operations to other processes. The exceptions are
`functions` and `fleet_runs`, which accept Python functions and therefore work in this process only. Call every
operation on the platform's event loop. Results are copies that any thread may read.
"""
