// A solution: its routes, the files of its folder with what is wrong in them, and what its scripts printed.

import { act, acting, form } from "/page/actions.js";
import { button, choice, el, labelled, live, shown, table, when } from "/page/dom.js";
import { call } from "/page/lab.js";

const LINES = 200; // of the log
let chosen = "";

export async function show(into) {
  const all = await call("solutions.all");
  if (!all.length) return into.append(el("p", {}, "The lab has no solution yet."));
  if (!all.some(({ id }) => id === chosen)) chosen = all[0].id;
  const one = el("div");
  const choose = async (id) => {
    chosen = id;
    const checked = el("pre", { tabindex: 0, role: "status" });
    one.replaceChildren(
      live(async () => {
        const found = await call("solutions.get", { id });
        const routes = await call("solutions.routes", { id });
        return [el("p", {}, el("a", { href: found.url, target: "_blank", rel: "noopener noreferrer" }, found.url),
          ` products: ${found.products.join(", ") || "none"}`), found.warnings.map((text) => el("p", { class: "wrong" }, text)),
        table("Routes", ["Method", "Path", "Content type", "Where"], routes, (each) =>
          [each.method, each.path, each.content_type, each.where])].flat();
      }),
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
      live(async () => table("Log", ["Lab time", "Level", "Run", "Status", "Text"],
        (await call("solutions.logs", { id })).slice(-LINES).reverse(), (each) =>
          [when(each.time / 1e6), each.level, each.run, each.status, each.text])),
      el("h3", {}, "Call a service"),
      form("Call", "services.call", { given: { solution: id }, suggested: call("services.catalogue", { solution: id }).then((known) => ({ service: Object.keys(known) })),
        done: ({ value, notes }) => [...notes, shown(value)].join("\n") }));
  };
  into.append(labelled("Solution", choice(all.map(({ id }) => id), choose, chosen)), one);
  await choose(chosen);
}
