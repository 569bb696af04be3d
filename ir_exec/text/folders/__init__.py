"""Folders with the files of a model: their parts, descriptions, and contradictions between the files."""
