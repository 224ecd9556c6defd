"""Holds: which claim held which device from when to when, and which of them overlap.

Guarantees do not belong here (see the checks).
"""
