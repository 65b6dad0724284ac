"""What is seen of a run beside its report: boards for Grafana, Prometheus' configuration, and a renderer of our own.

Part of the repository, not of the package: nothing in `llmload` imports it.
"""
