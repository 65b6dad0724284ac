"""What is written down: the record of one attempt, the run folder, the spool.

Facts only. Nothing here knows Locust, gevent, or what a figure is.
"""
