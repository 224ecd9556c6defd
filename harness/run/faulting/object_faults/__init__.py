"""Faults that the run injects by changing objects of the API, as another client of it.

Contents: `claim_moving`, `node_losses`, `object_touching`.
"""
