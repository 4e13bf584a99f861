"""Requirements on the Keystore service of scripts (document 1), with their checks."""
