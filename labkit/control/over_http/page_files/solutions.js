// A solution: its routes, the files of its folder with what is wrong in them, and what its scripts printed.

import { act, acting, form } from "/page/actions.js";
import { button, choice, el, labelled, live, shown, table, when } from "/page/dom.js";
import { call } from "/page/lab.js";

const LINES = 200; // of the log
const LONGEST = 20_000; // characters of an answer
const WRONG = new Set(["error", "warning", "warn", "critical"]); // levels of the log
const BODILESS = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

const answered = ({ status, headers, body, size }) =>
  [`${status ?? "no answer"} ${headers["content-type"] ?? ""}, ${size} bytes`, headers.location && `location: ${headers.location}`,
    body.slice(0, LONGEST), body.length > LONGEST && `… ${body.length - LONGEST} more characters`].filter(Boolean).join("\n");
let chosen = "";

export async function show(into) {
  const all = await call("solutions.all");
  if (!all.length) return into.append(el("p", {}, "The lab has no solution yet."));
  if (!all.some(({ id }) => id === chosen)) chosen = all[0].id;
  const one = el("div");
  const choose = async (id) => {
    chosen = id;
    const request = form("Send", "solutions.request", { given: { id }, first: ["method", "path", "body"], long: ["body"],
      suggested: call("solutions.routes", { id }).then((routes) => ({ path: routes.map(({ path }) => path) })),
      examples: { path: "/metrics?day=1", body: '{"name": "value"}', headers: '{"Authorization": "Bearer …"}' }, done: answered });
    const prepare = async ({ method, path, content_type }) => {
      await request.ready;
      const field = (name) => request.querySelector(`[name=${name}]`);
      field("method").value = method;
      field("headers").value = BODILESS.has(method) || content_type.includes("json") ? "" : JSON.stringify({ "Content-Type": content_type });
      const named = Object.assign(field("path"), { value: path });
      named.focus();
      const begin = path.search(/[{][^}]*[}]/); // of a parameter: typing replaces it
      if (begin >= 0) named.setSelectionRange(begin, path.indexOf("}", begin) + 1);
    };
    request.ready.then(() => Object.assign(request.querySelector("[name=path]") ?? {}, { pattern: "[^\\{\\}]*", title: "a value for each {parameter} of the route" }));
    const checked = el("pre", { tabindex: 0, role: "status" });
    one.replaceChildren(
      live(async () => {
        const found = await call("solutions.get", { id });
        const routes = await call("solutions.routes", { id });
        return [el("p", {}, el("a", { href: found.url, target: "_blank", rel: "noopener noreferrer" }, found.url),
          ` products: ${found.products.join(", ") || "none"}`), found.warnings.map((text) => el("p", { class: "wrong" }, text)),
        table("Routes", ["Method", "Path", "Content type", "Where"], routes, (each) =>
          [each.method, each.method === "WEBSOCKET" ? each.path : button(each.path, () => prepare(each), { class: "plain" }),
            each.content_type, each.where])].flat();
      }),
      el("h3", {}, "Send a request to a route"), request,
      el("h3", {}, "Its folder"),
      el("p", { class: "bar" }, acting("Read its folder again", "solutions.reload", { id }), button("Check its folder", async () => {
        const found = await act("solutions.check", { id });
        if (found) checked.textContent = [...found.errors, ...found.warnings].join("\n") || "nothing is wrong";
      })),
      checked,
      live(async () => {
        const files = await call("solutions.files", { id });
        const wrong = files.flatMap(({ file, problems }) => problems.map((each) => ({ file, ...each })));
        return [table("Files", ["File", "Kind", "Has", "Calls"], files, (each) =>
          [each.file, each.kind, each.holds.join(", "), each.calls.join(", ")]),
        table("Findings", ["Where", "Level", "Text"], wrong, (each) => [`${each.file}:${each.line}`, each.level, each.text])];
      }),
      el("h3", {}, "Its log"),
      live(async () => table("Log", ["Lab time", "Level", "Run", "Status of the run", "Text"],
        (await call("solutions.logs", { id })).slice(-LINES).reverse(), (each) =>
          [when(each.time / 1e6), each.level, each.run, each.status,
            WRONG.has(each.level) || each.status >= 400 ? el("span", { class: "wrong" }, each.text) : each.text])),
      el("h3", {}, "Call a service"),
      form("Call", "services.call", { given: { solution: id }, suggested: call("services.catalogue", { solution: id }).then((known) => ({ service: Object.keys(known) })),
        done: ({ value, notes }) => [...notes, shown(value)].join("\n") }));
  };
  into.append(labelled("Solution", choice(all.map(({ id }) => id), choose, chosen)), one);
  await choose(chosen);
}
