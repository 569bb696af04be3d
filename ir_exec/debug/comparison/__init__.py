"""Two runs compared layer by layer: own and carried errors, tolerances, and the verdict."""
