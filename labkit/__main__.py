"""`python -m labkit`: the same verbs as `labkit`."""

from labkit.cli import main

if __name__ == "__main__":
    main(prog_name="labkit")
