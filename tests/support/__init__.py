"""Helpers of tests, one module for each topic."""
