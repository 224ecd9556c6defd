"""Which release has which finding: every finding is asked of every release in a folder.

A cell of the table is the runs of one scenario with one program. How a run is made belongs in
`campaign`, and what the findings are in `scenario.hazards`.
"""
