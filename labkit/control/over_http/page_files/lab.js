// The lab behind the page: its operations, its stream of events, and each call as code.

const KEPT = "labkit-token";
const LINK = "labkit page and lab.page() print a new link";
const ENDED = "The lab has ended, or the connection to it. Reload this page to connect again.";
let token = sessionStorage.getItem(KEPT);
let description;

// Exchange the code in the page's address for the token, which the tab keeps, so that it can be loaded again.
export async function signIn() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code) {
    history.replaceState(null, "", "/");
    const answer = await fetch("/page/token", { method: "POST", headers: { Authorization: `Code ${code}` } });
    if (answer.ok) sessionStorage.setItem(KEPT, token = await answer.text());
    else if (!token) throw new Error((await answer.json()).detail);
  }
  if (!token) throw new Error(`This address has no code: ${LINK}.`);
}

export const ended = () => {
  throw new Error(ENDED);
};

export async function send(path, body, method = "POST", signal = undefined) {
  const answer = await fetch(path, { method, headers: { Authorization: `Bearer ${token}` }, body, signal }).catch(ended);
  if (answer.status === 401) throw new Error(`The lab has another token now: ${LINK}.`);
  if (!answer.ok) throw Object.assign(new Error((await answer.json()).detail), { refused: true });
  return answer;
}

const path = (key) => `/v1/${key.replace(".", "/")}`;

export const call = async (key, given = {}) => (await send(path(key), JSON.stringify(given))).json();

// The items of a streaming operation, in lists as they arrive; an empty one when it has begun. signal: ends it.
export async function* follow(key, given = {}, signal = undefined) {
  const reader = (await send(path(key), JSON.stringify(given), "POST", signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read().catch(ended);
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    yield blocks.filter((each) => each.includes("data: ")).map((each) => JSON.parse(each.slice(each.indexOf("data: ") + 6)));
  }
}

// The parameters of an operation as JSON Schemas by name. inner: a parameter whose own fields are returned.
export async function parameters(key, inner) {
  description ??= send("/openapi.json", undefined, "GET").then((answer) => answer.json());
  const { paths, components } = await description;
  const whole = (schema) => schema.$ref ? whole(components.schemas[schema.$ref.split("/").pop()]) : schema;
  let found = whole(paths[path(key)].post.requestBody.content["application/json"].schema);
  if (inner) found = whole(found.properties[inner]);
  return Object.entries(found.properties ?? {}).map(([name, schema]) => {
    const kinds = (schema.anyOf ?? [schema]).map(whole).filter((each) => each.type !== "null");
    return { name, kinds, required: found.required?.includes(name), text: schema.description ?? "" };
  });
}

// ---- calls as code

// The handle's method for each operation that has one; {name} is an argument, and {*} the rest by name.
const PYTHON = {
  "clock.advance": "lab.clock.advance({*})",
  "clock.advance_to": "lab.clock.advance_to({when})",
  "clock.freeze": "lab.clock.freeze()",
  "clock.run": "lab.clock.run({*})",
  "devices.act": "lab.product({product}).act({identity}, {action}, {*})",
  "devices.cut": "lab.product({product}).cut({identity})",
  "faults.add": "lab.faults.add({where}, {*})",
  "faults.clear": "lab.faults.clear()",
  "faults.remove": "lab.faults.remove({name})",
  "handsets.switch": "lab.handsets[{address}].{online?online:offline}()",
  "identities.allow": "lab.product({product}).allow({identities}, {*})",
  "identities.forget_credentials": "lab.product({product}).forget_credentials({identity})",
  "identities.lock": "lab.product({product}).lock({identity})",
  "identities.remove": "lab.product({product}).remove({identity})",
  "identities.unlock": "lab.product({product}).unlock({identity})",
  "lab.drain": "lab.drain({*})",
  "lab.remove_snapshot": "lab.remove_snapshot({name})",
  "lab.reset": "lab.reset()",
  "lab.restart": "lab.restart({*})",
  "lab.restore": "lab.restore({*})",
  "lab.settle": "lab.settle()",
  "lab.snapshot": "lab.snapshot({*})",
  "mailbox.clear": "lab.mailbox.clear()",
  "mailbox.follow": "lab.mailbox.follow({*})",
  "services.call": "lab.solution({solution}).call({service}, {operation}, {parameters})",
  "solutions.check": "lab.solution({id}).check()",
  "solutions.reload": "lab.solution({id}).reload()",
  "solutions.request": "lab.solution({id}).request({method}, {path}, {*})",
};

const literal = (value) => Array.isArray(value) ? `[${value.map(literal).join(", ")}]`
  : value == null ? "None" : value === true ? "True" : value === false ? "False"
  : typeof value === "object" ? `{${Object.entries(value).map(([name, each]) => `${literal(name)}: ${literal(each)}`).join(", ")}}`
  : JSON.stringify(value);

export const quoted = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

// Whether a text is an object or a list in JSON.
export function isJson(text) {
  try {
    return typeof (JSON.parse(text) ?? 0) === "object";
  } catch {
    return false;
  }
}

function python(key, given) {
  if (!(key in PYTHON)) {
    return `httpx.post("${location.origin}${path(key)}", json=${literal(given)},\n`
      + `    headers={"Authorization": "Bearer " + os.environ["LABKIT_TOKEN"]}).json()`;
  }
  const rest = { ...(given.fault ?? given) };
  if (key === "solutions.request" && "body" in rest) {
    rest.content = rest.body; // as httpx names it
    rest.headers = { ...isJson(rest.body) && { "Content-Type": "application/json" }, ...rest.headers };
    delete rest.body;
  }
  const take = (name) => {
    const value = rest[name];
    delete rest[name];
    return value;
  };
  return PYTHON[key].replace(/\{(\w+)\?(\w+):(\w+)\}/g, (_, name, yes, no) => take(name) ? yes : no)
    .replace(/\{(\w+)\}/g, (_, name) => literal(take(name)))
    .replace("{*}", () => Object.entries(rest).map(([name, each]) => `${name}=${literal(each)}`).join(", "))
    .replace(", )", ")");
}

// The call in Python, for curl and for labkit call, as [name, code] pairs.
export const asCode = (key, given) => [
  ["Python", python(key, given)],
  ["curl", `curl -sS ${location.origin}${path(key)} -H "Authorization: Bearer $LABKIT_TOKEN" -d ${quoted(JSON.stringify(given))}`],
  ["labkit", [`LABKIT_URL=${location.origin} labkit call`, key, ...Object.entries(given).map(([name, each]) =>
    quoted(`${name}=${typeof each === "string" ? each : JSON.stringify(each)}`))].join(" ")],
];
