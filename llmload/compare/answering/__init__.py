"""Whether answers are still right: `answering` takes `recorded` ones, or those that ab asked for; `quality` counts."""
