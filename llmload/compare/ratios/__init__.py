"""The ratios with their intervals.

`attempts` and `measured` are what both sides had, `intervals` Student's t over rounds, `bootstrap` and `drawing` draws
over requests, `ratios` one of the two, `cells` the table of all, `changes` several steps of change.
"""
