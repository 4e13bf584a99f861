"""The device HTTPS API (document 1), a file for each part of the document.

api           routing, and the common processing of every request
authenticate  authentication: 400, 401, 403, 404 and 409
provision     POST /provision/activate, and provisioning by certificate
content       GET /provision/download
alias         write, read and hybrid
long_poll     reads that wait
record        POST /onep:v1/stack/record
timestamp     GET /timestamp
forms         form bodies and queries
exchange      one request in progress, and its refusal
wire          departures from the HTTP library's framing
emitted       the payloads of the events that a request causes
"""
