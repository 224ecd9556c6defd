"""Analyses the logs of schedulers: which device two claims had at a time, and which race it was.

It needs no run: a log of kube-scheduler or of our own scheduler is enough. Logs are read once, in
bounded memory. It shares no code with the scheduler that writes such lines.

Not in here: how it is shown (`report.explanations`), and verdicts about runs (`checks`).
"""
