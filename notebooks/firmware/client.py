"""Firmware of a thermostat: an ordinary Python program with requests, which knows nothing of labkit.

It does what client.c does, without its bug. Run: PLATFORM_URL=https://thermostat.example python client.py t-001
"""

import os
import random
import sys
import time

import requests

ALIAS = "/onep:v1/stack/alias"
MINUTE = 60
POLL_SECONDS = 28  # two of them and a write fit into a minute
ATTEMPTS = 5  # of a write

base, identity = os.environ["PLATFORM_URL"], sys.argv[1]
session = requests.Session()


def say(*words):
    print(*words, flush=True)


def rest(seconds):
    """Sleep for `seconds` and a bit more, so that devices that failed together do not come back together."""
    time.sleep(seconds + random.uniform(0, seconds))


def request(method, path, timeout=7, **options):
    """Send a request and return its answer, None if there is none."""
    try:
        return session.request(method, base + path, timeout=timeout, **options)
    except requests.RequestException as error:
        say(f"{path}: {type(error).__name__}")
        return None


def status_of(answer):
    return 0 if answer is None else answer.status_code


def activate():
    """Get a token, however long it takes."""
    session.headers.pop("X-Platform-CIK", None)
    while status_of(answer := request("POST", "/provision/activate", data={"id": identity})) != 200:
        say("activation:", status_of(answer))
        rest(30)
    session.headers["X-Platform-CIK"] = answer.text
    say("activated")


def write_temperature(temperature):
    """Write a temperature; try again if the platform does not take it. Return whether it did."""
    for attempt in range(1, ATTEMPTS + 1):
        status = status_of(request("POST", ALIAS, data={"temperature": f"{temperature:.1f}"}))
        if status == 204:
            return True
        say(f"write: {status}, attempt {attempt}")
        if status == 401:  # the platform has lost the token
            activate()
        else:
            rest(attempt)
    return False


def poll_setpoint(setpoint, since):
    """Wait for a newer setpoint. Return it, or the old one, its Last-Modified, and whether the platform answered."""
    headers = {"Request-Timeout": str(POLL_SECONDS * 1000), "If-Modified-Since": since}
    answer = request("GET", ALIAS + "?setpoint", timeout=POLL_SECONDS + 7, headers=headers)
    if status_of(answer) == 200:
        setpoint = float(answer.text.removeprefix("setpoint="))
        say(f"setpoint {setpoint:.1f}")
        return setpoint, answer.headers["Last-Modified"], True
    if status_of(answer) != 304:
        say("poll:", status_of(answer))
    return setpoint, since, status_of(answer) == 304


def main():
    temperature, setpoint, since, failed = 18.0, 20.0, "0", 0
    activate()
    while True:
        began = time.time()
        temperature += (setpoint - temperature) / 10
        if write_temperature(temperature):
            failed = 0  # the platform is back
        for _ in range(2):
            if failed < 2:
                setpoint, since, answered = poll_setpoint(setpoint, since)
                failed = 0 if answered else failed + 1
                if not answered:
                    rest(2)
        time.sleep(max(0, began + MINUTE - time.time()))


main()
