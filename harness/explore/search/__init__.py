"""Search for failing interleavings.

The system that is explored belongs in `worlds`; files and pages belong in `output`.

Contents: `explored_run` (one run), `search_campaign` (many runs), `random_strategies`,
`exhaustive`, `distinct_states` (their number), `worker_processes`, `shrink_world`,
`shrink_decisions`, `causality_curve`, `tokens` (replay).
"""
