"""What solution scripts call: a service each, all alike."""
