"""What a run looks like while it goes on: figures for the page and for Prometheus, from what the conductor hears.

Fed line by line, asked at any time; it knows no Locust, gevent, socket, file or clock. What counts in the end is
computed by the reporter from the files: here the same figures are only made early, in bounded memory.
"""
