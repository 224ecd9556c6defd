"""Prepares a machine, a folder or a cluster, and says what there is."""
