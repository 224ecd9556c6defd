"""Figures of a run for tables and charts. No verdict depends on them."""
