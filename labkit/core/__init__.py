"""Basic parts without knowledge of the platform: clock, identifiers, errors, events, journal, database."""

__version__ = "1.3.0"  # of labkit; below all modules that show it
