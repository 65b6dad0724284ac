"""What comes of it.

`verdict` is the word, `holding` how a claim stands in a cell, `headlines` the one sentence, `overall` what several
pairs say together; `ratio_gates` are for pipelines.
"""
