"""Requirements on limits of deployed platforms, with their checks."""
