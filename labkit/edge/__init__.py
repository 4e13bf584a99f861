"""The listener: TLS by SNI, client certificates, which host is meant, the frame around requests; not of products."""
