"""A thermostat that is made of murano-client: once a minute a write and two long polls."""

import sys
import time

from murano_client.http import MuranoHTTP

url, identity, ca_file = sys.argv[1:]
client = MuranoHTTP(
    murano_host=url, murano_id=identity, murano_cacert=ca_file, http_timeout=35, form_encode=True
)
client.http_activate()
number = 0
while True:
    began = time.time()
    number += 1
    print(client.http_write("temperature", str(20 + number % 5)).code, flush=True)
    for _ in range(2):
        answer = client.http_long_poll("setpoint", 28_000)
        if answer.code == 200:
            print(answer.body, flush=True)
    time.sleep(began + 60 - time.time())
