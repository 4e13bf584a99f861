"""Charts of DataFrames, and live views (dashboards) for JupyterLab."""
