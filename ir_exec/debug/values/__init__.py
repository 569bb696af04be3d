"""The values of a run: their names, facts about them, and how they are stored."""
