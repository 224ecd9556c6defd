"""Judges, explains, compares and asks what was recorded; nothing is run here."""
