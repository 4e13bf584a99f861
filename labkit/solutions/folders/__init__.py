"""Parts of a solution's folder: scripts, the project file, specifications, and what is wrong in them."""
