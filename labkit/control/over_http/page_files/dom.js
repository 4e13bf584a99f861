// Elements of the page. All text of a lab becomes text nodes: no markup is ever parsed.

const DRAWN = new Set(["svg", "polyline", "title"]);
const FOCUSABLE = "a, button, input, select, summary, textarea, [tabindex]";

export function el(tag, attributes = {}, ...children) {
  const made = DRAWN.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat(2).filter((each) => each != null && each !== false));
  return made;
}

export const button = (text, click, attributes = {}) => el("button", { type: "button", click, ...attributes }, text);

// Rows under headings. cells: returns the cells of a row, texts or elements.
export function table(label, headings, rows, cells, nothing = "none") {
  if (!rows.length) return el("p", { class: "nothing" }, `${label}: ${nothing}`);
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, el("table", {},
    el("thead", {}, el("tr", {}, headings.map((each) => el("th", { scope: "col" }, each)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, cells(row).map((each, at) => el("td", { "data-name": headings[at] }, each)))))));
}

// The course of a value. points: [time, number] pairs; null where there is none to draw.
export function chart(label, points) {
  const values = points.map(([, value]) => value);
  if (points.length < 2 || !values.every(Number.isFinite)) return null;
  const low = values.reduce((one, other) => Math.min(one, other)), high = values.reduce((one, other) => Math.max(one, other));
  const begin = points[0][0], end = points.at(-1)[0];
  const drawn = points.map(([time, value]) =>
    `${(time - begin) / (end - begin || 1) * 300},${48 - (value - low) / (high - low || 1) * 46}`);
  return el("svg", { viewBox: "0 0 300 50", preserveAspectRatio: "none", role: "img",
    "aria-label": `${label}: ${points.length} values from ${low} to ${high}` }, el("polyline", { points: drawn.join(" ") }));
}

// A part of a view that is made anew whenever something in the lab may have changed.
export function live(make) {
  const box = el("div", { class: "live" });
  let busy = false, again = false;
  box.refresh = async () => {
    if (busy) return void (again = true);
    busy = true;
    const made = await Promise.resolve().then(make).catch((error) => el("p", { class: "wrong" }, error.message));
    const at = [...box.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    box.replaceChildren(...[made].flat().filter((each) => each != null));
    if (at >= 0) box.querySelectorAll(FOCUSABLE)[at]?.focus();
    busy = false;
    if (again) box.refresh(again = false);
  };
  box.refresh();
  return box;
}

export const refresh = () => document.querySelectorAll(".live").forEach((each) => each.refresh());

export const labelled = (text, input, ...more) => el("label", {}, el("span", {}, text), input, more);

// A choice among texts, or [value, text] pairs. change: called with the chosen value, if given.
export function choice(options, change, chosen, name) {
  const made = el("select", { name, change: () => change?.(made.value) }, options.map((each) => {
    const [value, text] = [each].flat().length > 1 ? each : [each, each];
    return el("option", { value, selected: value === chosen }, text);
  }));
  return made;
}

export const when = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").replace(/(\.000)?Z$/, "");

export const shown = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 1);
