"""The sidecar: what the GPUs of this machine do, for Prometheus and as lines. A process of its own, without gevent."""
