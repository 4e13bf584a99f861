"""Tsdb, which stores values of metrics over time. No document describes it; labkit decides."""
