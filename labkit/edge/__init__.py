"""The listener: TLS by SNI, client certificates, which host is meant; it knows nothing of products."""
