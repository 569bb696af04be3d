"""A helper, not a test: changes the source in one place at a time and sees whether any test notices.

`python -m tests.mutate --help`; tests/README.md tells how to use it.
"""
