"""What a machine is: processor, memory, system, guest or container, GPUs. Reads /proc and /sys, asks nobody else."""
