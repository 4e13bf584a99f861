// States of the lab that it keeps under a name.

import { acting, form } from "/page/actions.js";
import { el, live, table, when } from "/page/dom.js";
import { call } from "/page/lab.js";

export function show(into) {
  into.append(
    live(async () => table("Snapshots", ["Name", "Lab time", "Bytes", "Actions"], await call("lab.snapshots"), (each) =>
      [each.name, when(each.time), each.size, [
        acting("Restore", "lab.restore", { name: each.name }, { question: `Replace the state of the lab by ${each.name}?`, "aria-label": `Restore ${each.name}` }),
        " ", acting("Remove", "lab.remove_snapshot", { name: each.name }, { "aria-label": `Remove ${each.name}` })]])),
    el("h3", {}, "Keep the present state in memory"),
    form("Keep", "lab.snapshot", { only: ["name"], done: ({ name, size }) => `${name}: ${size} bytes` }));
}
