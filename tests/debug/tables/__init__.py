"""Tests of ir_exec.debug.tables."""
