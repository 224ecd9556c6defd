"""The certificate: questions about the evidence of a run, and their answers.

A VALID verdict rests on it: a single "no" rules it out. `certification` asks; the modules beside it
answer, each from other files of the run directory. The code that reads the evidence does not belong
here (see `evidence`, `faults` and `witness`).
"""
