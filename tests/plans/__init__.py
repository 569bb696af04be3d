"""Snapshots of plans: what every network is compiled to, as text, so that a change of behavior shows in a diff."""
