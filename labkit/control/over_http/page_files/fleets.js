// Runs of fleets that were started over the control API: their state, and their end.

import { acting } from "/page/actions.js";
import { el, live, table, when } from "/page/dom.js";
import { call } from "/page/lab.js";

export const show = (into) => into.append(
  el("p", {}, "Runs that programs have started by fleets.start, such as notebooks with Lab.connect on a virtual clock."),
  live(async () => table("Runs", ["Run", "Product", "Devices", "Since", "State", "Actions"], await call("fleets.all"), (each) =>
    [each.run, each.product, each.count, when(each.time), each.over ? "over" : each.paused ? "paused" : "runs",
      !each.over && [each.paused ? acting("Go on", "fleets.resume", { run: each.run }) : acting("Pause", "fleets.pause", { run: each.run }), " ",
        acting("Stop", "fleets.stop", { run: each.run })]])));
