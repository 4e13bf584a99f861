"""What every host of a lab shares: connections, bodies, errors, dates, the outbound client, sites by name."""
