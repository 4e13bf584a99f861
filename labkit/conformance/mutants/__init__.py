"""The mutants: named faults, a file for each part, that the checks must notice."""
