// Firmware of a thermostat: an ordinary Node program with fetch, which knows nothing of labkit.
//
// It does what client.c does, without its bug. Run: PLATFORM_URL=https://thermostat.example node client.mjs t-001

import { setTimeout as sleep } from "node:timers/promises";

const ALIAS = "/onep:v1/stack/alias";
const MINUTE = 60;
const POLL_SECONDS = 28; // two of them and a write fit into a minute
const ATTEMPTS = 5; // of a write

const base = process.env.PLATFORM_URL;
const identity = process.argv[2];
let token = null;

// Sleep for `seconds` and a bit more, so that devices that failed together do not come back together.
const rest = (seconds) => sleep(1000 * (seconds + seconds * Math.random()));

// Send a request and return status, text and headers of its answer; status 0 if there is none.
async function request(method, path, { form, headers = {}, seconds = 7 } = {}) {
  if (token) headers["X-Platform-CIK"] = token;
  const body = form && new URLSearchParams(form);
  try {
    const answer = await fetch(base + path, { method, headers, body, signal: AbortSignal.timeout(1000 * seconds) });
    return { status: answer.status, text: await answer.text(), headers: answer.headers };
  } catch (error) {
    console.log(`${path}: ${error.cause?.code ?? error.name}`);
    return { status: 0 };
  }
}

// Get a token, however long it takes.
async function activate() {
  token = null;
  for (;;) {
    const { status, text } = await request("POST", "/provision/activate", { form: { id: identity } });
    if (status === 200) {
      token = text;
      return console.log("activated");
    }
    console.log(`activation: ${status}`);
    await rest(30);
  }
}

// Write a temperature; try again if the platform does not take it. Return whether it did.
async function writeTemperature(temperature) {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const { status } = await request("POST", ALIAS, { form: { temperature: temperature.toFixed(1) } });
    if (status === 204) return true;
    console.log(`write: ${status}, attempt ${attempt}`);
    if (status === 401) await activate(); // the platform has lost the token
    else await rest(attempt);
  }
  return false;
}

let temperature = 18;
let setpoint = 20;
let since = "0"; // Last-Modified of the last setpoint: a poll waits for a newer one
let failed = 0; // polls in a row

// Wait for a setpoint. Return whether the platform answered, with a setpoint or without.
async function pollSetpoint() {
  const headers = { "Request-Timeout": String(1000 * POLL_SECONDS), "If-Modified-Since": since };
  const answer = await request("GET", `${ALIAS}?setpoint`, { headers, seconds: POLL_SECONDS + 7 });
  if (answer.status === 200) {
    setpoint = Number(answer.text.replace("setpoint=", ""));
    since = answer.headers.get("Last-Modified");
    console.log(`setpoint ${setpoint.toFixed(1)}`);
  } else if (answer.status !== 304) console.log(`poll: ${answer.status}`);
  return answer.status === 200 || answer.status === 304;
}

await activate();
for (;;) {
  const began = Date.now();
  temperature += (setpoint - temperature) / 10;
  if (await writeTemperature(temperature)) failed = 0; // the platform is back
  for (let number = 0; number < 2 && failed < 2; number++) {
    if (await pollSetpoint()) failed = 0;
    else {
      failed += 1;
      await rest(2);
    }
  }
  await sleep(Math.max(0, began + 1000 * MINUTE - Date.now()));
}
