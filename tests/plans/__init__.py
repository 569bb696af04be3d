"""Snapshots of plans: what every network is compiled to, as text, so that a change of behaviour shows in a diff."""
