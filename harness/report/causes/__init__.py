"""The cause of a double allocation: what the scheduler read, what it missed, and how that is shown.

Pages and charts of whole runs do not belong here.

Contents: `deciding_writes`, `explaining`, `json_differences`, `log_causes`, `step_sentences`,
`strip_pictures`, `strips`, `windows`.
"""
