"""Work distributed over processes, and over the machines of a Dask cluster."""
