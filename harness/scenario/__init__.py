"""Scenario files: what to do, as data.

Loads and validates TOML into frozen values, and names every mistake with its path. No defaults hide anywhere else, and
nothing here does anything: no cluster, no traffic, no processes.
"""
