"""Store of time series that the services Tsdb and Timeseries share, and what both need of times and values."""
