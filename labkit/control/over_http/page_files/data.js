// What services keep for a solution: keys, users, timers and time series, searched.

import { button, choice, el, labelled, live, shown, table, when } from "/page/dom.js";
import { call } from "/page/lab.js";

const chosen = { solution: "", kind: "Keystore", text: "" };

const value = el("pre", { tabindex: 0, role: "status" });

const keyed = (key, solution) => [key, button("Show", async () => {
  const found = await call("keystore.get", { solution, key });
  value.textContent = `${key}, ${found.type}${found.seconds === null ? "" : `, for ${found.seconds} s more`}: ${shown(found.value)}`;
}, { "aria-label": `Show ${key}` })];

const series = (service) => ["series.search", (text) => ({ service, text }), ["Name", "Field", "Tags"], (each) =>
  [each.name, each.field, Object.entries(each.tags).map((pair) => pair.join("=")).join(", ")]];

// Of each kind the operation, what it gets for a searched text, the headings of its table, and the cells of an item.
const KINDS = {
  Keystore: ["keystore.keys", (match) => ({ match }), ["Key", "Value"], keyed],
  Users: ["users.search", (text) => ({ text }), ["Id", "Email", "Name", "Status", "Created"], (each) =>
    [each.id, each.email, each.name, ["not activated", "active", "disabled"][each.status], when(each.creation_date)]],
  Timers: ["timers.all", () => ({}), ["Due", "Timer", "Repeats", "Message"], (each) =>
    [when(each.due), each.timer_id, each.repeats, shown(each.message)]],
  Tsdb: series("Tsdb"),
  Timeseries: series("Timeseries"),
};

export async function show(into) {
  const solutions = (await call("solutions.all")).map(({ id }) => id);
  if (!solutions.length) return into.append(el("p", {}, "The lab has no solution yet."));
  if (!solutions.includes(chosen.solution)) chosen.solution = solutions[0];
  let pages = 1;
  value.textContent = "";
  const list = live(async () => {
    const { solution, kind, text } = chosen;
    const [key, given, headings, cells] = KINDS[kind];
    const found = [];
    let cursor;
    for (let count = 0; cursor !== null && count < pages; count++) {
      const page = await call(key, { solution, ...given(text), ...cursor && { cursor } });
      found.push(...page.items);
      cursor = page.cursor;
    }
    return [table(kind, headings, found, (each) => cells(each, solution)),
      cursor !== null && button("More", () => list.refresh(pages += 1))].filter(Boolean);
  });
  const again = (name) => (value) => list.refresh(pages = 1, chosen[name] = value);
  const search = el("input", { type: "search", value: chosen.text, input: () => again("text")(search.value) });
  into.append(el("form", { class: "bar", submit: (event) => event.preventDefault() },
    labelled("Solution", choice(solutions, again("solution"), chosen.solution)),
    labelled("What", choice(Object.keys(KINDS), again("kind"), chosen.kind)), labelled("Text", search)), value, list);
}
