"""A comparison as people and programs read it. Computes no figure and judges nothing.

sections: what every format shows, as small tables of text; gains: the ratios among them; numbers: figures as text
again: the commands that repeat it; beside: two answers side by side, with what differs marked
terminal, markdown, html: the formats for people; data: JSON for pipelines; files: all of them, by name and on disk
plots: the pictures of the page; curves, spreads, bars, radar: who draws them; points: from what; inks: the colours
"""
