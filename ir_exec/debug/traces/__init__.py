"""Every value of a run, on disk or in memory."""
