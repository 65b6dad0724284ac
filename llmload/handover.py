"""What `llmload run` hands over to the Locust process that it starts: the names of environment variables. No key."""

PARENT_PID = "LLMLOAD_PARENT_PID"
"""Process id of the `llmload run` that started Locust; when it is gone, Locust's part ends."""

COMMAND = "LLMLOAD_COMMAND"
"""The command the user typed, a JSON list, for run.json; unset when Locust was typed itself."""
