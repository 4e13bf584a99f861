"""What scripts do with the devices of their solution's products: the service Device2."""
