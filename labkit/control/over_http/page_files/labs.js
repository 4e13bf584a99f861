// Labs on demand: labs apart from this one, with ports of their own, which it starts for its clients.

import { act, acting, form } from "/page/actions.js";
import { button, el, live, table } from "/page/dom.js";
import { call } from "/page/lab.js";

const span = (seconds) => seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;

const actions = ({ id, note }) => {
  const named = (text) => ({ "aria-label": `${text} ${note || id}` });
  return el("div", { class: "bar" },
    button("Open", async () => {
      const link = await act("labs.page", { id });
      if (link) open(link, "_blank", "noopener");
    }, named("Open")),
    acting("Renew", "labs.renew", { id }, named("Renew")),
    acting("End", "labs.end", { id }, { question: `End the lab ${note || id}? Nothing of it stays.`, ...named("End") }));
};

export async function show(into) {
  try {
    await call("labs.all");
  } catch (error) {
    return into.append(el("p", {}, error.message));
  }
  into.append(
    el("p", {}, "Labs that this one has started for its clients. Each ends once no request has come for the time of its lease; an open page of it holds it."),
    live(async () => table("Labs", ["Note", "Seed", "Age", "Requests", "Lease", "Control", "Actions"], await call("labs.all"), (each) =>
      [each.note || each.id, each.seed ?? "none", span(each.age), each.requests, span(each.lease), each.url, actions(each)])),
    el("h3", {}, "Start a lab"),
    form("Start", "labs.start", { first: ["note", "seed"],
      examples: { note: "ann's firmware", seed: "that of this lab", settings: '{"products": [{"id": "lamp"}]}', state: "a snapshot, below --files" },
      done: ({ id, url, hosts }) => `${id} at ${url}, with ${hosts.length} hosts: Open leads to its page` }));
}
