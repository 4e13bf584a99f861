"""Requirements on the files that configure services, with their checks."""
