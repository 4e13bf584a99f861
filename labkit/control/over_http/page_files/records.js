// What arrived in the lab: the newest records of its journal, mails and marks, as small objects.

const MOST = 50_000; // records kept
const SPARE = 5_000; // that are let go at once
const PROBLEMS = new Set(["refused", "warning", "error", "backpressure"]);

export const records = { kept: [], gone: 0, missed: 0, time: 0 };
const early = new Map(); // read before the stream completed them, by sequence
let next = 0; // each record's number, without gaps
const names = new Map(); // each actor's text is kept once

const named = (text) => names.get(text) ?? (names.size < 20_000 && names.set(text, text), text);

const why = ({ reason, error, hint, peer }) => {
  const text = reason ?? error?.error ?? error ?? hint ?? "";
  if (typeof text !== "string") return JSON.stringify(text);
  return peer ? `${text.replace(/; from \S+$/, "")}; from ${peer}` : text; // reasons of TLS name the address alone
};

export const record = (each) => ({
  sequence: each.sequence, time: each.time / 1e6, kind: each.kind, actor: named(each.actor), summary: each.summary,
  status: each.status, why: why(each.detail ?? {}),
});

const other = (time, kind, actor, summary) => ({ sequence: null, time, kind, actor, summary, status: null, why: "" });

// A request with a reason was refused in part, such as a write of an unknown resource, which is answered with 204.
export const isProblem = (each) => PROBLEMS.has(each.kind) || each.status >= 400 || (each.kind === "request" && each.why !== "");

export function addEarlier(entries) {
  const there = new Set(records.kept.map((each) => each.sequence));
  const made = entries.map(record).filter((each) => !there.has(each.sequence));
  made.forEach((each, index) => {
    each.number = (records.kept[0]?.number ?? next) - made.length + index;
    early.set(each.sequence, each);
  });
  records.kept.unshift(...made);
}

// Add the events of a stream, and return the new records; null if the list has to be shown anew.
export function add(events) {
  const made = [];
  let whole = false;
  for (const event of events) {
    if (event.missed) records.missed += event.missed;
    else if (event.reset) {
      Object.assign(records, { kept: [], gone: 0 });
      early.clear();
      made.length = 0;
      whole = true;
    } else if (event.mail) made.push(other(event.mail.time, "mail", event.mail.solution, `${event.mail.to}: ${event.mail.subject}`));
    else if (event.mark) made.push(other(event.mark[0], event.mark[1], "lab", event.mark[2]));
    else {
      const known = early.get(event.record.sequence);
      if (known) whole = Object.assign(known, record(event.record)) && early.delete(event.record.sequence);
      else made.push(record(event.record));
    }
  }
  for (const each of made) {
    each.number = next++;
    records.kept.push(each);
  }
  records.time = Math.max(records.time, made.at(-1)?.time ?? 0);
  if (records.kept.length > MOST + SPARE) {
    records.gone += records.kept.length - MOST;
    records.kept.splice(0, records.kept.length - MOST);
  }
  return whole ? null : made;
}
