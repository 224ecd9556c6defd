"""Exploration of the unchanged scheduler in one process, with interleavings that are chosen.

Decisions are a list of small integers, so every finding can be replayed exactly and shrunk.

Anything that only load can show does not belong here: no processes under test, no real time, no
HTTP.

Contents: `runtime` (greenlets in place of threads, virtual time), `worlds` (a scheduler and an
in-process API server), `search` (at every operation that other threads could notice, the choice of
the task that continues: random walk, PCT, bounded exhaustive search, or a token's decisions),
`output` (presentation of a run).
"""
