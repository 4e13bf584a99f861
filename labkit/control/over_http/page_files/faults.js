// The faults that are on, and how often each hit; new ones at places that exist.

import { acting, form } from "/page/actions.js";
import { el, live, table } from "/page/dom.js";
import { call } from "/page/lab.js";
import { records } from "/page/records.js";

// Of fields whose text alone does not tell what to enter.
const EXAMPLES = {
  where: "POST /onep:v1/stack/alias", delay: "30 or [0.1, 2]", body: '{"error": "busy"}', headers: '{"Retry-After": "5"}',
  drop: "users.*.email", replace: '{"temperature": "99"}', put: '{"@Cache-Control": "no-store"}', edit: '{"items": "[:-1]"}',
  if_given: '{"temperature": "9*"}', if_answer: '{"status": "!ok"}', identity: "t-00*", does: "slow", chance: "0.1",
};

const words = (each) => [each.sentence, each.warnings.map((text) => el("small", {}, text))].flat();
const names = async (key) => (await call(key)).map(({ id }) => id);

// Requests that came, routes, handled events and operations, as places of faults.
async function places() {
  const found = records.kept.filter((each) => each.kind === "request").map((each) => each.summary);
  for (const { id } of await call("solutions.all")) {
    found.push(...(await call("solutions.routes", { id })).map((each) => `${each.method} ${each.path}`));
    for (const [service, operations] of Object.entries(await call("services.catalogue", { solution: id }))) {
      found.push(...Object.keys(operations).map((name) => `${service}.${name}`));
    }
  }
  return [...new Set(["POST /onep:v1/stack/alias", "GET /onep:v1/stack/alias", "device datapoint", ...found])].slice(0, 1000);
}

export function show(into) {
  into.append(
    live(async () => {
      const found = await call("faults.all");
      return [table("Faults", ["Name", "What happens", "State", "Hits, of those possible", "Actions"], found, (each) =>
        [each.name, words(each), each.state, `${each.hits} of ${each.seen}`,
          acting("Remove", "faults.remove", { name: each.name }, { "aria-label": `Remove ${each.name}` })], "all works as it should"),
      found.length > 1 && acting("Remove all", "faults.clear")].filter(Boolean);
    }),
    el("h3", {}, "Add a fault"),
    form("Add", "faults.add", { inner: "fault", first: ["where", "status", "delay", "cut", "lost", "first", "chance", "identity", "solution"],
      suggested: Promise.all([places(), names("products.all"), names("solutions.all"), call("addresses.hosts")])
        .then(([where, product, solution, site]) => ({ where, product, solution, site })),
      examples: EXAMPLES, preview: async (given) => words(await call("faults.describe", given)),
      done: (added) => `${added.name}: ${added.sentence}` }));
}
