"""Calls of Notify by scripts, with the credentials and parameters that its provider requires (document 3)."""
