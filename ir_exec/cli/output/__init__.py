"""The text, tables and files that commands write."""
