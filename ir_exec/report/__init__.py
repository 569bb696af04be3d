"""The kit of all reports: records, CSV, JUnit, HTML and text.

Pure functions: no output, no files, no colors.
"""
