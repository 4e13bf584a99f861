"""`labkit serve --reload`: a running platform takes over edits of lab.yaml and of solution folders."""

from labkit.reload.reloader import reloading

__all__ = ["reloading"]
