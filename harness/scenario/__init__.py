"""Scenario files and cluster profiles as data.

Loads TOML into frozen, validated values and reports every mistake with its key. All defaults of
these files are here. Code that starts clusters, traffic or processes does not belong here.
"""
