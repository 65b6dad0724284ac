"""Three ratios and the rule: `rule` sets it up, `stability` and `memory` are two of the ratios, `weighing` decides."""
