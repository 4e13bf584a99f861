"""Small parts that know nothing of the platform: clock, identifiers, errors, events, journal, database."""
