"""HTTP parts that all hosts of a lab share: connections, bodies, errors, dates, the outbound client, sites by name."""
