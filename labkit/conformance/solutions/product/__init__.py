"""Requirements on the product that a solution's folder describes, with their checks."""
