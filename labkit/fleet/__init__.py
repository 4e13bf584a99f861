"""Virtual devices, and the client they share; they reach the platform by HTTPS only."""
