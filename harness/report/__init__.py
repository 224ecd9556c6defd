"""Renders runs and campaigns: report.html, junit.xml, trace.json, and the index of a campaign.

Deterministic, from the run directory alone, into self-contained files. Verdicts do not belong here
(see `checks`).
"""
