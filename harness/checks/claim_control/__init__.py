"""Checks of claims over all their versions: their reservations, and what the claim controller does.

Contents: `controller_history`, `controller_records`, `reservations`.
"""
