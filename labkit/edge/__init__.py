"""HTTPS listener: TLS by SNI, client certificates, routing of requests to sites by host name."""
