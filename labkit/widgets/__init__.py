"""What people see of a lab: charts of frames, and live views for JupyterLab."""
