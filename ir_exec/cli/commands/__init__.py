"""The commands, one module each; each module defines `command`."""
