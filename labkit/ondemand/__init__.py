"""Labs on demand: a served lab starts others for its clients, as forks of a prepared process where the system can fork.

labs       starts, lists and ends them, in the process of the served lab
template   a process that has started the platform of some settings, and forks each lab from itself
process    the process of one lab, and its lease
"""
