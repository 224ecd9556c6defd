"""Commands about runs inside one process: `explore` and `replay`.

Contents: `exploring`, `replaying`, `search_texts`, `search_texts`.
"""
