"""Parts of a solution that routes work with: requests, responses, webservice.yaml, admission and documentation."""
