"""A run as OpenTelemetry spans, from its journals alone: also after the run, and as it goes on.

One trace for each pod and claim, with its API calls, scheduling attempts, steps and holds, and one
for the run with its phases, processes and faults. The ids follow from the run, so that sending a
run again gives the same spans. The measured processes do nothing for it, and real schedulers have
spans too. Importing the SDK belongs to `span_sending` alone.
"""
