"""Runs, hunts and searches, and what prepares and follows them; judging belongs to `judging`."""
