"""Interface service: solutions offer operations and events to other solutions (document 3)."""
