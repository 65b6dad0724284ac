"""What the load is: scenario, mix, prompts, plan.

Pure: no clock, socket, gevent or Locust; times come in as arguments.
"""
