"""Promises of stories: what must hold, and how a play is judged."""
