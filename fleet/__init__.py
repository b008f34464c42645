"""The vocabulary: workloads, GPUs, MIG geometry, samples, demand, shapes, mechanism properties, change sets, errors."""
