"""Commands about runs inside one process: `explore` and `replay`.

Contents: `exploring`, `random_exploring`, `replaying`, `search_texts`.
"""
