"""Tests of ir_exec.debug.device.tables."""
