"""Renders runs and campaigns: report.html, junit.xml, trace.json, and the index of a campaign.

Deterministic, from the run directory alone, into self-contained files. Verdicts do not belong here
(see `checks`).

Contents: `campaign_index`, `causes`, `charts`, `drawing`, `escaping`, `evidence`, `explanations`,
`fault_tables`, `hold_tables`, `junit`, `markdown_summaries`, `page_templates`, `publishing`,
`remedy_costs`, `rendering`, `reports_index`, `run_facts`, `traces`.
"""
