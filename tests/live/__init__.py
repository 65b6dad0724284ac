"""Tests of the live figures."""
