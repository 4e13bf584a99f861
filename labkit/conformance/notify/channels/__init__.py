"""The payload of a notification on each channel (document 3)."""
