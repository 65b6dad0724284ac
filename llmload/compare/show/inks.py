"""The colours of the two sides: the same on every picture and in the tables of the page. Pure."""

from llmload.report.inks import COLOURS, MARKERS

BASELINE, CANDIDATE = COLOURS[0], COLOURS[1]
SIDES = ((BASELINE, MARKERS[0]), (CANDIDATE, MARKERS[1]))
"""Colour and marker of the baseline and of the candidate."""
GOOD, BAD, NEITHER = "#14733a", "#a61b29", "#5b6575"
"""What speaks for the candidate, against it, and for neither."""
