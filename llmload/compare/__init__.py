"""Whether a claim holds: two or more runs side by side. Never imports Locust or gevent.

One way: `sides` reads runs and sets them side by side; `differences` and `conditions` say whether they may be
compared; `cells` are the ratios with their intervals (`intervals`: numbers only); `rule`, `kinds`, `changes`, `money`,
`answering` look at them from one side each; `verdict` judges; `comparing` does all of it; `show` renders what came of
it.
"""
