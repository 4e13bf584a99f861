"""Model checks: random sequences of requests, each answer compared with a small reference model of one area."""
