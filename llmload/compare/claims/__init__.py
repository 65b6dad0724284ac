"""What is claimed: `phrase` and `claims` read it, `conditions` holds what was `stated` against what the runs had."""
