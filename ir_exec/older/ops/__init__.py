"""One function for each layer type of IR versions 2 to 7, by family."""
