"""Handles of a lab for notebooks: synchronous, typed objects that delegate to the platform; one subject per file."""
