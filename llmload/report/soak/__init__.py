"""What became of a server over hours: the longest window of a run, cut into buckets, and whether it drifts.

buckets     which window, and where it is cut; the rows of the buckets
drift       percentiles of each bucket against the first full hour, with an interval
spreads     how sure percentiles of some attempts are
growth      the slope of memory over time, with an interval
judge       the verdict and its sentences
table       the table as text
finding     all of them, for a run

A request belongs to the bucket in which it was sent. Percentiles follow the rules of every other table.
"""
