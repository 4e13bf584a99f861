"""Timeseries, which stores points for InfluxQL. No document describes it; labkit decides."""
