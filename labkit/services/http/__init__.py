"""The Http service: requests of scripts to the hosts that the lab's settings name."""

from labkit.services.http.service import HttpService as HttpService
