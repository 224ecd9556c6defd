"""The unchanged scheduler inside one process, with the interleaving chosen instead of awaited.

`runtime` replaces threads by greenlets and time by virtual time; `worlds` puts a scheduler beside an in-process API server; `search` decides
at every operation that other threads could notice which task continues: a random walk, PCT, a bounded search, or the decisions of a
token. `output` writes what was found. Decisions are a list of small numbers, so every finding can be replayed exactly and shrunk.

Nothing that only load can show belongs here: no processes under test, no real time, no HTTP.
"""
