"""How far a run or a campaign is while it goes on, from its files alone.

The journals are followed as they grow, so that looking costs the measured processes nothing.
None of it is a verdict (see `checks`): the run writes that when it has ended. Tables and lines
belong to `cli`.
"""
