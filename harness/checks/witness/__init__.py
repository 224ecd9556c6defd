"""The second witness: the API server's audit log, read and folded by itself, beside the watch.

Each difference is named with both sides. The fold of the watch (`hold_history`) does
not belong here: the two folds share only the types of records.
"""
