"""Worlds about the scheduler: pods that compete for devices, and what may go wrong meanwhile."""
