"""What people ask of a fleet: is it safe, why is it so, what was changed, may more be left to foreslice."""
