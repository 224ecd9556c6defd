"""Small worlds to explore.

The choice of interleavings belongs in `search`.

Contents: `api_server`, `oracle`, `small_world`, `world_fixtures`, `world_specs`, `world_users`.
"""
