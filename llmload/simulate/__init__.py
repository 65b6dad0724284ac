"""An endpoint with known timing. Imports neither Locust nor gevent."""
