"""Timeseries: points in the line protocol, and queries in InfluxQL."""
