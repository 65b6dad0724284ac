"""The boards for Grafana and what Prometheus needs: lint, queries, rules, pictures."""
