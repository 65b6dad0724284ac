"""`make proof`: claims held against simulated servers whose truth is known, by real runs. See `cases`."""
