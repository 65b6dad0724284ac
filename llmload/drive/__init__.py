"""The Locust edge: all that runs inside Locust's processes, and nothing else of llmload imports Locust.

What each file is for stands at its head; these belong together (a test holds the list to the folder):

    Puts llmload into Locust: start, plugin, locustfile, shape, wiring, hearing, signals, mixuser, user, hooks
    A run, beginning it: prepare, listing, runlog
    A run, conducting it: conductor, stepping, ratestep, run, members, book, muster, desk, reporter, voice
    A run, sending requests: candidate, kit, parcels, worker, session, part, turnstile, arriving, ship, generator, apart
    Between the two: messages, order
    The web page (the rest of it is web/): hand
    Figures while it runs: feed, steprows, exporter, oblivion
    What it is measured on, and what GPUs and server say meanwhile: surroundings, sampling
"""
