"""IR of versions 2 to 7: what lowers its layers to operators of today."""
