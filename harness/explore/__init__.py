"""Exploration of the unchanged scheduler in one process, with interleavings that are chosen.

`runtime` replaces threads by greenlets and time by virtual time. `worlds` connects a scheduler to
an in-process API server. `search` decides, at every operation that other threads could notice,
which task continues: a random walk, PCT, a bounded exhaustive search, or the decisions of a token.
`output` presents a run. Decisions are a list of small integers, so every finding can be replayed
exactly and shrunk.

Anything that only load can show does not belong here: no processes under test, no real time, no
HTTP.
"""
