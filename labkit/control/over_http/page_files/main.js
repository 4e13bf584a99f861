// The page of a lab: its views, its clock, and the stream that all of them share.

import { el, refresh, when } from "/page/dom.js";
import { call, ended, follow, signIn } from "/page/lab.js";
import { add, addEarlier, records } from "/page/records.js";
import * as now from "/page/now.js";

const VIEWS = { now, ...Object.fromEntries(["devices", "messages", "faults", "clock", "snapshots", "solutions", "data", "fleets", "labs"].map((name) =>
  [name, { title: name[0].toUpperCase() + name.slice(1), load: () => import(`/page/${name}.js`) }])) };
const EARLIER = 500; // records that are read when the page is opened
let shown; // the view on the page
const [time, state, nav, main] = ["#time", "#state", "nav", "main"].map((each) => document.querySelector(each));

const named = () => location.hash.slice(1) in VIEWS ? location.hash.slice(1) : "now";

async function showView() {
  const name = named();
  const view = VIEWS[name].load ? await VIEWS[name].load() : VIEWS[name];
  if (name !== named()) return; // another view was chosen meanwhile
  shown?.leave?.();
  shown = view;
  nav.replaceChildren(...Object.entries(VIEWS).map(([each, { title }]) =>
    el("a", { href: `#${each}`, "aria-current": each === name && "page" }, title)));
  const into = el("div"); // its own, as a view may come in parts
  main.replaceChildren(el("h2", {}, VIEWS[name].title), into);
  view.show(into);
  document.title = `${VIEWS[name].title} · labkit`;
}

function say(text, wrong = false) {
  state.textContent = text;
  state.className = wrong ? "wrong" : "";
}

let again;
document.addEventListener("changed", async ({ detail }) => {
  if (detail && records.begun) say(detail); // of an action; what went wrong before is past
  refresh();
  const clock = await call("clock.state");
  time.textContent = `${when(Math.floor(clock.time))} UTC${clock.rate === 0 ? ", virtual clock" : clock.rate === 1 ? "" : `, × ${clock.rate}`}`;
  clearTimeout(again);
  again = setTimeout(changed, clock.moves ? 1000 : 3000); // other programs act on the lab, too
});
const changed = () => document.dispatchEvent(new Event("changed"));

let due; // of the next refresh after events
async function stream() {
  for await (const events of follow("lab.follow")) {
    if (!records.begun) {
      records.begun = true;
      addEarlier(await call("journal.last", { count: EARLIER }));
      now.arrived(null);
      say("following");
      changed();
    }
    if (!events.length) continue;
    now.arrived(add(events));
    due ??= setTimeout(() => changed(due = undefined), 1000);
  }
  ended();
}

addEventListener("hashchange", () => location.hash.startsWith("#code=") ? location.reload() : showView()); // a new link
addEventListener("unhandledrejection", (event) => {
  if (event.reason.refused) event.preventDefault(); // it is no error of the page
  say(event.reason.message, true);
});
try {
  await signIn();
  showView();
  await stream();
} catch (error) {
  say(error.message, true);
}
