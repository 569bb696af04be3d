"""Tests of ir_exec.debug.isolation."""
