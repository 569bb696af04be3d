"""A lint for the words of messages, help texts, docstrings, comments and documents: `python -m tests.words PATH`."""
