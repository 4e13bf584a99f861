"""What can be done to a lab: typed async operations over Platform, a file a subject.

Arguments and results are plain data, so that the operations can also be offered to other processes. Only `functions`
takes Python functions, and works in this process alone. Every operation is called on the platform's own loop; what it
gives is a copy that any thread may read.
"""
