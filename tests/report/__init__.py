"""Tests of ir_exec.report."""
