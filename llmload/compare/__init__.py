"""Whether a claim holds: two or more runs side by side. Never imports Locust or gevent.

One way: `sides` reads runs and sets them side by side. `differing` says whether they may be compared, `claims` what is
said of them. `ratios` are the figures (`figures`) of one side by those of the other, with their intervals; `rule`,
`kinds`, `money`, `answering` and `capable` look at them from one side each; `verdict` judges. `comparing` does all of
it, `comparison` holds what came of it, `show` renders it, in the `words` of one file.
"""
