// Lab time, and what happens to the lab as a whole.

import { acting, form } from "/page/actions.js";
import { el, live, shown, table, when } from "/page/dom.js";
import { call } from "/page/lab.js";

export function show(into) {
  const forms = el("div");
  let kind;
  into.append(
    live(async () => {
      const { time, rate, moves } = await call("clock.state");
      if (kind !== (kind = rate > 0)) {
        forms.replaceChildren(...rate > 0 ? [] : [el("h3", {}, "Advance"),
          form("Advance", "clock.advance"), el("h3", {}, "Advance to a moment"), form("Advance", "clock.advance_to"),
          el("h3", {}, "Run"), form("Run", "clock.run")]);
      }
      const step = (text, given) => acting(text, "clock.advance", given);
      return [el("p", { class: "large" }, `${when(time)} UTC`),
        el("p", {}, rate === 1 ? "The clock runs as real time does." : rate > 0 ? `The clock runs ${rate} times as fast as real time.` : moves ? "A fleet moves the virtual clock."
          : "The virtual clock stands until it is advanced."),
        el("p", { class: "bar" }, rate > 0 ? acting("Stop", "clock.freeze")
          : [step("1 second", { seconds: 1 }), step("1 minute", { minutes: 1 }), step("1 hour", { hours: 1 }), step("1 day", { days: 1 }),
            acting("Drain", "lab.drain", {}, { title: "Advance until no fault delays anything" })])];
    }),
    live(async () => {
      const timers = await Promise.all((await call("solutions.all")).map(async ({ id }) =>
        (await call("timers.all", { solution: id, limit: 10 })).items.map((each) => ({ id, ...each }))));
      return table("Next timers", ["Due", "Solution", "Timer", "Repeats", "Message"],
        timers.flat().sort((one, other) => one.due - other.due).slice(0, 10),
        (each) => [when(each.due), each.id, each.timer_id, each.repeats, shown(each.message)]);
    }),
    forms,
    el("h3", {}, "The lab"),
    el("p", { class: "bar" }, acting("Settle", "lab.settle"),
      acting("Cut the power", "lab.restart", {}, { question: "Cut the power of the platform and start it again? Stored data stays.", title: "Restart the platform: stored data stays" }),
      acting("Reset", "lab.reset", {}, { question: "Delete all devices, data, users, mails and the journal?" })));
}
