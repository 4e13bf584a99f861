"""Requirements on services between solutions (document 3, Interface), with their checks."""
