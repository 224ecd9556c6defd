"""The folder for an issue: the scenario, the page and the picture, without secrets.

Everything is read from the directory of one failed run. Nothing is run here.

Contents: `api_writes`, `involved_objects`, `issue_pages`, `log_excerpts`, `markdown`, `pictures`,
`redaction`, `run_instructions`, `run_issues`, `scenario_files`, `scenario_sizes`,
`specimen_sections`, `specimens`, `text_strips`.
"""
