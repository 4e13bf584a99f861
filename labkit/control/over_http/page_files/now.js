// All that arrives in the lab as it arrives, with filters; a record opens with its causes and effects.

import { button, choice, el, labelled, shown, when } from "/page/dom.js";
import { call, isJson, quoted } from "/page/lab.js";
import { isProblem, record, records } from "/page/records.js";

const SHOWN = 200; // rows that are added at once
const MAIL = "mail"; // no record of the journal: a mail has a place of its own
const KINDS = ["request", "refused", "event", "script", "call", "log", "delivery", "message", MAIL, "connect", "fault",
  "release", "restart", "warning", "error", "backpressure", "start", "output", "end"];
const SEARCH = "Search the journal for older ones";
const STATUS = { "": "any status", problem: "problems", 2: "2xx", 3: "3xx", 4: "4xx", 5: "5xx" };

const filter = { kind: "", who: "", status: "", text: "" }; // stays when another view is shown
let list; // the view on the page: its rows, and what it says of them
let paused = false;
let waiting = []; // records since the last picture
let drawing = false;

function matches(each) {
  const { kind, who, status, text } = filter;
  return (!kind || each.kind === kind)
    && (!who || each.actor === who || each.actor.startsWith(`${who}/`))
    && (!status || (status === "problem" ? isProblem(each) : Math.floor(each.status / 100) === Number(status)))
    && (!text || `${each.actor} ${each.summary} ${each.why}`.toLowerCase().includes(text.toLowerCase()));
}

function row(each) {
  const text = each.sequence === null ? each.summary
    : el("button", { type: "button", class: "plain", "data-sequence": each.sequence }, each.summary);
  const made = el("tr", { class: isProblem(each) && "problem" },
    [when(each.time), each.kind, each.status, each.actor].map((cell) => el("td", {}, cell)),
    el("td", {}, text, each.why && el("small", {}, ` ${each.why}`)));
  made.number = each.number;
  return made;
}

// Show the newest records that match.
function showAll() {
  if (!list) return;
  waiting = [];
  list.oldest = Infinity;
  list.body.replaceChildren();
  showOlder();
}

function showOlder() {
  const { kept } = records, found = [];
  let at = Math.min(kept.length, list.oldest - kept[0]?.number);
  while (at > 0 && found.length < SHOWN) {
    const each = kept[--at];
    if (matches(each)) found.push(row(each));
  }
  list.body.append(...found);
  list.oldest = kept[at]?.number ?? 0;
  list.older.textContent = at > 0 ? "Show older" : SEARCH;
  list.older.hidden = at === 0 && filter.kind === MAIL;
  count();
}

// Show records that the tab does not have, from the journal itself.
async function search() {
  const { kind, text, who } = filter;
  const first = records.kept.find((each) => each.sequence !== null)?.sequence;
  const page = await call("journal.search", { ...first && { before: first }, ...list.cursor && { cursor: list.cursor }, ...kind && { kind }, ...text && { text },
    ...who && { [who.includes("/") ? "device" : "solution"]: who } });
  list.body.append(...page.items.map(record).filter(matches).map(row));
  list.cursor = page.cursor;
  list.older.hidden = page.cursor === null;
  count();
  if (list.older.hidden) list.count.textContent += "; the journal has no older ones";
}

function count() {
  const { kept, gone, missed } = records;
  list.count.textContent = `${list.body.rows.length} shown of ${kept.length} kept`
    + (gone ? `, ${gone} older let go` : "") + (missed ? `, ${missed} missed by a slow tab` : "")
    + (filter.who && !list.body.rows.length ? "; Who takes a whole name: a solution, a product, or product/identity" : "")
    + (filter.kind === MAIL ? "; earlier mails are in Messages" : "")
    + (paused ? `, ${waiting.length} since the pause` : "");
}

function draw() {
  drawing = false;
  if (!list) return;
  if (!paused && waiting.length) {
    const made = waiting.filter(matches).slice(-SHOWN).reverse().map(row);
    waiting = [];
    list.body.prepend(...made);
    for (; list.body.rows.length > 2 * SHOWN; list.older.hidden = false) {
      list.body.lastChild.remove();
      list.oldest = list.body.lastChild.number;
    }
  }
  count();
}

// Take over the records that `add` returned.
export function arrived(made) {
  if (made === null) return showAll();
  if (!list) return;
  for (const each of made) waiting.push(each);
  if (waiting.length > records.kept.length) waiting.splice(0, waiting.length - records.kept.length);
  if (!drawing) requestAnimationFrame(draw, drawing = true);
}

export const title = "Now";

export function show(into) {
  const who = el("datalist", { id: "actors" });
  const text = (name, attributes) => el("input", { type: "search", value: filter[name], input: (event) => {
    showAll(filter[name] = event.target.value.trim());
  }, ...attributes });
  list = { body: el("tbody", { click: (event) => event.target.dataset.sequence && open(Number(event.target.dataset.sequence)) }),
    count: el("p", { class: "count" }), older: button(SEARCH, () => list.older.textContent === SEARCH ? search() : showOlder()) };
  const pause = button("Pause", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", paused);
    draw();
  }, { "aria-pressed": paused });
  if (paused) pause.textContent = "Go on";
  const fill = () => who.replaceChildren(...[...new Set(records.kept.flatMap(({ actor }) =>
    [actor.split("/")[0], actor]))].slice(0, 500).map((value) => el("option", { value })));
  into.append(
    el("form", { class: "bar", submit: (event) => event.preventDefault() },
      labelled("Kind", choice([["", "all kinds"], ...KINDS], (value) => showAll(filter.kind = value), filter.kind)),
      labelled("Who", text("who", { list: "actors", placeholder: "solution, product or product/identity", focus: fill }), who),
      labelled("Status", choice(Object.entries(STATUS), (value) => showAll(filter.status = value), filter.status)),
      labelled("Text", text("text")),
      pause),
    list.count,
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Records" }, el("table", { class: "records" },
      el("thead", {}, el("tr", {}, ["Lab time", "Kind", "Status", "Who", "What"].map((each) => el("th", { scope: "col" }, each)))),
      list.body)),
    list.older);
  showAll();
}

export const leave = () => list = undefined;

// ---- one record

const WRITE = "POST /onep:v1/stack/alias";
const CUT = /(…|%E2%80%A6)( |%20)\d[\d,C%]*( |%20)more/; // where the journal has left out the rest

// The body of a request: as its record has it, or from the values that the device wrote with it, also refused ones.
function bodyOf(entry, entries) {
  if (entry.detail?.given) return entry.detail.given;
  if (entry.summary !== WRITE) return "";
  const written = entries.find((each) => each.cause === entry.sequence && each.summary === "data_in")?.detail.payload?.[0];
  return [...Object.entries(written?.values ?? {}), ...entry.detail?.not_stored ?? []]
    .map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
}

async function curl(entry, body) {
  const [method, path] = entry.summary.split(" ");
  const owner = entry.actor.split("/")[0];
  const products = await call("products.all");
  const product = products.find((each) => each.id === owner);
  const url = (product ?? (await call("solutions.all")).find((each) => each.id === owner))?.url;
  if (!url) return null;
  return `curl -sS --cacert ca.pem -X ${method} '${url}${path.replaceAll("'", "%27")}'`
    + (product ? ` -H "X-Platform-CIK: $CREDENTIAL"` : "")
    + (isJson(body) ? " -H 'Content-Type: application/json'" : "")
    + (body ? ` --data-raw ${quoted(body)}` : "")
    + (CUT.test(body) ? "\n# the record holds the beginning of the body only" : "");
}

// Open a record with the chain of its causes and all of their effects.
export async function open(sequence) {
  const dialog = document.querySelector("dialog");
  const entries = await call("journal.trace", { sequence });
  const entry = entries.find((each) => each.sequence === sequence);
  const close = button("Close", () => dialog.close());
  if (!entry) {
    dialog.replaceChildren(el("h2", { id: "opened" }, `Record ${sequence}`), el("p", {}, "The journal has let it go."), close);
    return dialog.showModal();
  }
  const below = Map.groupBy(entries, (each) => each.cause);
  const known = new Set(entries.map((each) => each.sequence));
  const branch = (each) => el("li", {},
    el("details", { open: each === entry }, el("summary", { "aria-current": each === entry && "true" },
      `${when(each.time / 1e6)} ${each.kind} ${each.status ?? ""} ${each.actor}: ${each.summary}`),
    el("pre", { tabindex: 0 }, shown({ sequence: each.sequence, size: each.size, ...each.detail }))),
    below.has(each.sequence) && el("ul", {}, below.get(each.sequence).map(branch)));
  const command = entry.kind === "request" && await curl(entry, bodyOf(entry, entries));
  const code = el("pre", { tabindex: 0, hidden: true }, command);
  dialog.replaceChildren(
    el("h2", { id: "opened" }, `${entry.kind} ${entry.summary}`),
    el("p", { class: "bar" }, close, command && button("Copy as curl", () => {
      code.hidden = false;
      navigator.clipboard?.writeText(command);
    })),
    code,
    el("ul", { class: "tree" }, entries.filter((each) => !known.has(each.cause)).map(branch)));
  dialog.showModal();
}
