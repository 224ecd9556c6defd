"""Commands about many runs on this machine: `hunt` and `nightly`, and their options.

Contents: `campaign_options`, `campaigning`, `hunt_command`, `nightly_command`.
"""
