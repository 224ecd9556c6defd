"""History and judgement as pictures and tables: report.html, junit.xml, trace.json, and the index of a campaign.

No verdicts: what is said here was decided by `checks`. Everything is drawn from the run directory alone, deterministically, into
files that need nothing else.
"""
