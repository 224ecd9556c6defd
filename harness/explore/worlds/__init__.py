"""Small worlds to explore.

The choice of interleavings belongs in `search`.

Contents: `small_world` (one world, with its scheduler), `world_specs` (the list of worlds),
`world_fixtures` (nodes, devices, claims, pods), `world_users`, `api_server` (in-process), `oracle`
(judge of every commit).
"""
