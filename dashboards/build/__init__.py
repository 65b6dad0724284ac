"""The boards for Grafana, made from code: `python -m dashboards.build` writes them as JSON to be provisioned.

Who changes a board changes it here, and checks in both. Knows names of series, and asks no Prometheus.
"""
