"""The device HTTPS API (document 1), a file for each part of the document.

api           which endpoint is meant, and the frame around each request
authenticate  whose request it is; who gets 401, 403, 404 or 409
provision     POST /provision/activate, and provisioning by certificate
content       GET /provision/download
alias         write, read and hybrid
long_poll     the waiting variant of read
record        POST /onep:v1/stack/record
timestamp     GET /timestamp
forms         form bodies and queries
exchange      one request on its way through, and how it is refused
wire          departures from the HTTP library's framing
emitted       the payloads of the events that a request causes
"""
