"""Which kind of faster: `kinds` tells it; `looking`, `cliff`, `capacity` and `posing` each look for one sort."""
