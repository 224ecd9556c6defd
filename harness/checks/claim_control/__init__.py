"""Checks of all versions of claims: of their reservations, and of the claim controller's writes.

Contents: `controller_history`, `controller_records`, `reservations`.
"""
