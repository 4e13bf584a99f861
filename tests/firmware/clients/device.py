"""A device: device.py IDENTITY SECONDS [FILE [PERIOD]], as device.c."""

# ruff: noqa: T201

import random
import sys
import time
from pathlib import Path

import requests

HOST = "https://thermostat.m2.lab.localhost"
session = requests.Session()


def call(method: str, path: str, timeout: float, **arguments: object) -> int:
    try:
        answer = session.request(method, HOST + path, timeout=timeout, **arguments)  # type: ignore[arg-type]
    except requests.RequestException as error:
        print(int(time.time()), path, type(error).__name__)
        return -1
    session.answer = answer.text  # type: ignore[attr-defined]
    return answer.status_code


def main(identity: str, seconds: str, file: str = "", period: str = "60") -> None:
    every = int(period)
    poll = every // 2 - 1 if every < 120 else 20
    end = time.time() + float(seconds)
    if file and Path(file).exists():
        cik = Path(file).read_text()
    else:
        while call("POST", "/provision/activate", 10, data={"id": identity}) != 200:
            time.sleep(5 + 10 * random.random())
        cik = session.answer  # type: ignore[attr-defined]
        if file:
            Path(file).write_text(cik)
    session.headers["X-Platform-CIK"] = cik
    print("active")
    count = 0
    while time.time() < end:
        began = time.time()
        count += 1
        while (
            status := call("POST", "/onep:v1/stack/alias", 10, data={"temperature": 20 + count % 50 / 10})
        ) != 204:
            print(int(time.time()), "write", status)
            time.sleep(1 + 4 * random.random())
        for _ in range(2):
            headers = {"Request-Timeout": f"{poll}000"}
            status = call("GET", "/onep:v1/stack/alias?message", poll + 6, headers=headers)
            if status == 200:
                print("got", session.answer)  # type: ignore[attr-defined]
            elif status != 304:
                print(int(time.time()), "poll", status)
                time.sleep(1 + 4 * random.random())
        time.sleep(max(0, began + every - time.time()))


if __name__ == "__main__":
    main(*sys.argv[1:])
