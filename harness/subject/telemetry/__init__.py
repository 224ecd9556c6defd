"""Reports of a subject process about its work: conditions of pods, and logs.

Nothing here takes part in a decision, and all of it may be switched off.
"""
