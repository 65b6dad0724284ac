"""Tests of the process that samples pages of GPUs and servers."""
