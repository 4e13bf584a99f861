"""What routes work with: requests, responses, settings of webservice.yaml, admission and documentation."""
