"""TOML files, shipped and the user's: found, read, overridden, validated, and their mistakes named.

The keys of scenarios and cluster profiles do not belong here.
"""
