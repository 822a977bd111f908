"""Experiments: suites of runs with one budget each, a resumable queue, tables made from its result files."""
