"""Objects of a user's own manifests as traffic: which are accepted, and what they say.

Everything is read while the scenario is loaded, and travels with it. Making the objects of a run,
with names of its own, does not belong here: see `harness.traffic.object_rounds`.
"""
