"""The differences between two files."""
