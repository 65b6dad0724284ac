"""Engines that llmload can start by itself, each in a process of its own: the simulator and llama.cpp."""
