"""HTTP parts shared by all hosts of a lab: connections, bodies, errors, dates, outbound client, table of hosts."""
