"""Judged by strangers: faults that nobody here thought of, and the checks alone to notice them.

`python -m labkit.conformance.judge --help`. A mutation tool (cosmic-ray) changes the code of the folders that serve, at
one place at a time; each mutant has a process of its own, a lab of `conformance/lab.yaml`, and the checks that run the
changed line. What none of them notices survives: it is equivalent (equivalent.toml, with the reason), or a hole.

mutations       what cosmic-ray would change, and the sample that is drawn of it
left_out        what is not code that serves: annotations, decorators, docstrings, names of types
lines           which checks run which lines
play            one mutant, in a process that does nothing else
trials          all of them: the baseline, then one after the other
equivalents     those that change nothing that anybody could see
"""
