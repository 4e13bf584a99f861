"""Requirements on the HTTPS interface of devices (document 1), with their checks."""
