"""Control over HTTP: the operations of a lab for other processes and other languages.

`operations` collects the operations from the classes of Control: there is no other list of them.
"""
