"""Pictures of the boards, drawn without Grafana: `python -m dashboards.draw http://127.0.0.1:9090`.

It reads the same JSON that Grafana is given, asks Prometheus what the panels ask, and draws what came with matplotlib:
a look at the boards where there is no Grafana, and no picture of Grafana itself.
"""
