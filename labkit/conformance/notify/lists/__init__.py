"""Lists of bindings (document 3)."""
