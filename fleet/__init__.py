"""The vocabulary: workloads, GPUs, MIG geometry, samples, demand, shapes, mechanisms, change sets, errors."""
