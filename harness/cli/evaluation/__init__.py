"""Commands about rates of many runs: how many are needed, and how they change from night to night.

Contents: `power_command`, `trend_commands`.
"""
