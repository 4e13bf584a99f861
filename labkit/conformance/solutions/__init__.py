"""What a solution meets: its routes, its handlers, the metrics pattern, errors (document 1)."""
