"""The values of a run: names, statistics, and files."""
