"""Basic parts without knowledge of the platform: clock, identifiers, errors, events, journal, database."""
