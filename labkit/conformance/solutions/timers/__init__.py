"""Requirements on the Timer service, with their checks."""
