"""Faults of plays: where they can hit, how they are drawn, and how they are put into a lab."""
