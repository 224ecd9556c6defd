"""The unchanged scheduler inside one process, with the interleaving chosen instead of awaited.

Threads are greenlets, time is virtual, the API server is its own store without sockets, and at every operation that other threads could
notice somebody decides who goes on: a random walk, PCT, a bounded search, or a token that says what was decided before. What is
decided is a list of small numbers, so every finding can be replayed exactly and made smaller.

Nothing that only load can show belongs here: no processes, no real time, no HTTP.
"""
