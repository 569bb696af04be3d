"""The subjects, one module each; `tests.fuzz` describes how one is added."""
