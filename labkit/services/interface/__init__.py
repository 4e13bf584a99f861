"""Interface: solutions that offer operations and events to other solutions (document 3)."""
