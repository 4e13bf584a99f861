"""Reporting: running notebooks, and the tables, charts and files that come of it."""

# Before nbformat imports jsonschema with everything that it can check, which takes longer than all else here.
import labkit.services.interface.jsonschema_import  # noqa: F401
