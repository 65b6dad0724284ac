"""What can differ between two sides: one entry in a list for each sort of difference, its parts read from a run.

    part: a sort and its parts; how two values are held against one another; how a run is read without falling over it
    serving: what answers: model, weights, tokenizer, engine, flags
    hardware: what that runs on: GPUs, machine, driver
    asking: what is asked: prompts, limits and lengths of answers, sampling, API, cache busting
    measuring: how it is measured: connections, window, time limits, generator, network, versions
    prompts: which text a prompt had
    lengths: how long answers are, prompt by prompt
    health: what is wrong with the runs themselves

`differences` holds the sides of a pair against one another with them. Adding a sort is adding an entry
to a list; adding a part is a line there.
"""
