"""The project in `outside` is run by a pytest of its own, in an empty folder."""

collect_ignore = ["outside"]
