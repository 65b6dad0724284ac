"""Whether answers are still right: shipped questions with known answers, and what two answers differ in. Pure.

Knows texts and expectations; no socket, no run folder, no clock. Who asks and who reads hands texts in.
"""
