"""Worlds about the scheduler: pods that compete for devices, and what may go wrong meanwhile.

Contents: `competing_pods`, `failovers`, `reallocated_claims`.
"""
