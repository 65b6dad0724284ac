"""Intervals of ratios: bootstraps over requests, Student's t over rounds, Holm's correction. Numbers only; pure."""
