"""Output of commands: amount and form, progress, verdicts, tables, annotations."""
