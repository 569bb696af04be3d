"""Differences between two models."""
