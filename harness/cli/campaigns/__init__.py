"""The command about many runs on this machine, `hunt`, and its options.

Contents: `campaign_options`, `campaigning`, `hunt_command`.
"""
