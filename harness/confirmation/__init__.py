"""Confirmation: what the explorer found is played as a script on any program.

How a script is played belongs in `run`, and the search for interleavings in `explore`.
"""
