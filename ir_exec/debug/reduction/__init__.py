"""Extraction of a part of a model, reduction to the smallest failing part, anonymization, and bundles."""
