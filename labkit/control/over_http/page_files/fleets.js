// Runs of fleets: their state and their end, and one as it goes on.

import { acting } from "/page/actions.js";
import { button, chart, el, live, table, when } from "/page/dom.js";
import { call, follow } from "/page/lab.js";

const POINTS = 1000; // intervals of a chart
let following; // ends the stream of the run that is shown

export function leave() {
  following?.abort();
}

// What the intervals of a run have: requests, errors by kind and devices by state, each as its course and its sum.
function facts(intervals, sums) {
  const course = (value) => intervals.map((each) => [each.time, value(each) ?? 0]);
  const row = (name, value, sum) => [name, value(intervals.at(-1)) ?? 0, sum, chart(name, course(value))];
  const names = (key) => [...new Set(intervals.flatMap((each) => Object.keys(each[key])))].sort();
  return table("Intervals", ["What", "Newest", "In all", "Course"], [
    row("requests", (each) => each.requests, sums.requests),
    ...names("errors").map((kind) => row(`errors: ${kind}`, (each) => each.errors[kind], sums[kind])),
    ...names("devices").map((state) => row(`devices: ${state}`, (each) => each.devices[state], "")),
  ], (each) => each);
}

async function watch(run, into) {
  leave();
  const { signal } = following = new AbortController();
  const intervals = [], failures = [], sums = { requests: 0 };
  let state, drawing = false;
  const drawn = live(() => {
    drawing = false;
    const failed = failures.slice(-5).map((each) => el("li", {}, `${when(each.time)} ${each.identity}: ${each.error}`));
    return [el("h3", {}, `Run ${run}`),
      el("p", {}, state ? `over${state.error ? `: ${state.error}` : ""}` : "following",
        intervals.length > 0 && `, ${when(intervals.at(-1).time)}`, failures.length > 0 && `, ${failures.length} failures of devices`),
      failed.length > 0 ? el("ul", {}, failed) : null,
      intervals.length ? facts(intervals, sums) : el("p", { class: "nothing" }, "no interval yet")];
  });
  into.replaceChildren(drawn);
  try {
    for await (const items of follow("fleets.watch", { run }, signal)) {
      for (const each of items) {
        if ("over" in each) state = each;
        else if ("requests" in each) {
          intervals.push({ time: each.time, requests: each.requests, errors: each.errors, devices: each.devices });
          failures.push(...each.failures);
          sums.requests += each.requests;
          for (const [kind, count] of Object.entries(each.errors)) sums[kind] = (sums[kind] ?? 0) + count;
        }
      }
      intervals.splice(0, intervals.length - POINTS);
      if (!drawing) requestAnimationFrame(drawn.refresh, drawing = true);
    }
  } catch (error) {
    if (!signal.aborted) into.append(el("p", { class: "wrong" }, error.message));
  }
}

export function show(into) {
  const one = el("section");
  const bar = (each) => {
    const at = { run: each.run }, named = (text) => ({ "aria-label": `${text} ${each.run}` });
    return el("div", { class: "bar" }, button("Follow", () => watch(each.run, one), named("Follow")),
      !each.over && [each.paused ? acting("Go on", "fleets.resume", at, named("Go on")) : acting("Pause", "fleets.pause", at, named("Pause")),
        acting("Stop", "fleets.stop", at, named("Stop"))]);
  };
  into.append(
    el("p", {}, "Runs in progress, and ended ones of clients that had gone."),
    live(async () => table("Runs", ["Run", "Product", "Devices", "Since", "State", "Actions"], await call("fleets.all"), (each) =>
      [each.run, each.product, each.count, when(each.time), each.over ? "over" : each.paused ? "paused" : "runs", bar(each)])),
    one);
}
