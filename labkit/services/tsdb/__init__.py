"""Tsdb service: values of metrics over time, with tags."""
