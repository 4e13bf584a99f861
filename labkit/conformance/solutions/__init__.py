"""Solutions: routes, event handlers, the metrics pattern and errors (document 1)."""
