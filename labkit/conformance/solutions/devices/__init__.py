"""Operations of scripts on the devices of their solution's products: the service Device2."""
