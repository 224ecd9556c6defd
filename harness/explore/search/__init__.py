"""Search for failing interleavings.

The system that is explored belongs in `worlds`; files and pages belong in `output`.

Contents: `causality_curve`, `distinct_states`, `exhaustive`, `explored_run`, `random_strategies`,
`random_worlds`, `search_campaign`, `search_progress`, `shrink_decisions`, `shrink_world`, `tokens`,
`whole`, `worker_processes`.
"""
