"""A platform as a whole: power cuts, suspension, and its first component, which has database, clock and journal."""
