"""Small worlds to explore: each has its objects, its actors, what happens, and its oracles.

The choice of interleavings belongs in `search`.

Contents: `api_server`, `chosen_parts`, `lifecycles`, `limited_store`, `local_watches`, `oracles`,
`random_worlds`, `scheduling`, `server_objects`, `small_world`, `world_catalogue`, `world_fixtures`,
`world_specs`.
"""
