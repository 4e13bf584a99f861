"""Workers: one function over many items, in processes or on a dask cluster."""
