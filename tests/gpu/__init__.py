"""What needs a real GPU of NVIDIA's: collected only where its library is, see conftest.py."""
