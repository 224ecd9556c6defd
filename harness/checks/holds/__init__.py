"""Holds: which claim held which device from when to when, and which of them overlap.

Guarantees do not belong here (see the checks).

Contents: `hold_arrays`, `hold_columns`, `hold_conflicts`, `hold_history`, `live_spotter`,
`observed_streams`, `overlapping`.
"""
