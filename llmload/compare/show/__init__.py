"""A comparison as people and programs read it. Computes no figure and judges nothing.

sections: what every format shows, as small tables of text; gains: the ratios among them; numbers: figures as text
terminal, markdown, html: the formats for people; data: JSON for pipelines; formats: all of them by name
plots: the pictures of the page; curves, spreads, bars, radar: who draws them; inks: their colours
beside: two answers side by side, with what differs marked
"""
