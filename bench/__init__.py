"""Benchmarks. They assert nothing: machines differ, so compare two commits on one machine."""
