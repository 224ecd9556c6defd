"""Exploration of the unchanged scheduler in one process, with interleavings that are chosen.

Decisions are a list of small integers, so every finding can be replayed exactly and shrunk.

Anything that only load can show does not belong here: no processes under test, no real time, no
HTTP.
"""
