"""Samples of GPUs and of the server while a run goes on, into its folder: a process of its own, without gevent."""
