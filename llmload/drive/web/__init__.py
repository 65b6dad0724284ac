"""The web page: what llmload adds to Locust's own pages, and pages of its own. Steers the conductor, sends nothing.

Locust's page, starting and steering runs: form, permit, guard, beside
Own routes: routes, downloads; what they serve to a browser lies in pages/
"""
