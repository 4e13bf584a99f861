"""Tsdb: values of metrics over time, with tags."""
