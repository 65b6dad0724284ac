"""From a run folder to tables, plots and pages. Never imports Locust or gevent."""
