"""Comparisons: a story over a grid of parameters, and two sets of plays side by side."""
