"""The image and the stack of `docker compose`: its files as they stand, and all of it brought up for real."""
