"""What solution scripts call: a room for each service, all alike."""
