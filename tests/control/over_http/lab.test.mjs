// A test of a device and its solution in another language: fetch and node:test, no package.
import assert from "node:assert/strict"
import https from "node:https"
import { test } from "node:test"

const { LABKIT_URL, LABKIT_TOKEN } = process.env

async function lab(operation, args = {}) {
  const answer = await fetch(`${LABKIT_URL}/v1/${operation.replace(".", "/")}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${LABKIT_TOKEN}` },
    body: JSON.stringify(args),
  })
  const result = await answer.json()
  if (!answer.ok) throw Object.assign(new Error(result.detail), result)
  return result
}

// A device's request. fetch has no own resolver: `.localhost` names are this machine.
function send(url, { form, headers = {} }) {
  return new Promise((resolve, reject) => {
    const lookup = (host, options, done) =>
      options.all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4)
    const type = { "Content-Type": "application/x-www-form-urlencoded; charset=utf-8" }
    const request = https.request(url, { method: "POST", lookup, headers: { ...type, ...headers } }, (answer) => {
      let text = ""
      answer.on("data", (piece) => (text += piece))
      answer.on("end", () => resolve({ status: answer.statusCode, text }))
    })
    request.on("error", reject)
    request.end(new URLSearchParams(form).toString())
  })
}

test("a warm room sends a mail after an hour", async () => {
  const product = await lab("products.ensure", {
    settings: { id: "thermostat", resources: { temperature: "number" } },
  })
  await lab("solutions.ensure", {
    settings: { id: "acme", products: ["thermostat"] },
    files: {
      "services/warm.lua": `--#EVENT device datapoint
Email.send({to = {"ann@example.com"}, subject = "warm", text = data.value[2] .. " degrees"})`,
    },
  })

  const { text: cik } = await send(`${product.url}/provision/activate`, { form: { id: "t-001" } })
  assert.equal(cik.length, 40)
  const headers = { "X-Platform-CIK": cik }
  const begin = (await lab("clock.state")).time
  await lab("clock.advance", { hours: 1 })
  assert.equal((await lab("clock.state")).time, begin + 3600)
  const written = await send(`${product.url}/onep:v1/stack/alias`, { form: { temperature: "31.5" }, headers })
  assert.equal(written.status, 204)
  await lab("lab.settle")

  const [mail] = await lab("mailbox.find", { to: "ann@example.com" })
  assert.deepEqual([mail.subject, mail.text, mail.time], ["warm", "31.5 degrees", begin + 3600])
  const records = await lab("journal.select", { kind: "request", actor: "thermostat/t-001" })
  const last = records.at(-1)
  assert.deepEqual([last.summary, last.status, last.time], ["POST /onep:v1/stack/alias", 204, (begin + 3600) * 1e6])
  await assert.rejects(lab("products.get", { id: "x" }), { status: 404, message: /no product 'x'/ })
})
