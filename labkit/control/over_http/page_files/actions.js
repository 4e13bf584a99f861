// Buttons and forms that act on the lab, made from the declared parameters of its operations, and shown as code.

import { button, choice, el, labelled, live, shown } from "/page/dom.js";
import { asCode, call, parameters } from "/page/lab.js";

const only = el("input", { type: "checkbox" });
const code = el("div", { class: "code" });
const footer = el("details", {}, el("summary", {}, "The last click as code"),
  labelled("only show clicks as code, do nothing", only), code,
  el("small", {}, "In Python, lab is the Lab of a notebook, or Lab.connect(url, token); in a shell, LABKIT_TOKEN has the token of this lab."));
document.querySelector("footer").append(footer);

function showCode(key, given) {
  code.replaceChildren(...asCode(key, given).map(([name, text]) => el("div", {}, el("b", {}, name),
    el("pre", { tabindex: 0 }, text), button("Copy", () => navigator.clipboard?.writeText(text), { "aria-label": `Copy ${name}` }))));
  if (only.checked) footer.open = true;
  return !only.checked;
}

// Call an operation, show it as code, and show what has changed. name: of the click, for the header, which says that it
// is done. Returns the result; undefined if the call was only shown.
export async function act(key, given = {}, name = key) {
  if (!showCode(key, given)) return undefined;
  const result = await call(key, given);
  document.dispatchEvent(new CustomEvent("changed", { detail: `${name}: done` }));
  return result;
}

export const acting = (text, key, given, { question, ...attributes } = {}) =>
  button(text, async () => (!question || confirm(question)) && act(key, given, attributes["aria-label"] ?? text), attributes);

function input({ name, kinds, required }, suggested, placeholder, long) {
  const options = kinds.flatMap((each) => each.enum ?? each.const ?? []);
  if (kinds.every((each) => each.enum || each.const)) return choice(required ? options : ["", ...options], undefined, undefined, name);
  if (kinds.every((each) => each.type === "boolean")) return el("input", { type: "checkbox", name });
  if (kinds.every((each) => ["number", "integer"].includes(each.type))) {
    return el("input", { type: "number", step: kinds[0].type === "integer" ? 1 : "any", name, required, placeholder });
  }
  if (long) return el("textarea", { name, required, placeholder, rows: 3 });
  return el("input", { name, required, placeholder, list: suggested && `${name}-suggested`, autocomplete: "off" });
}

const isText = ({ kinds }) => kinds.every((each) => each.type === "string");

function valueOf(field, control) {
  if (control.type === "checkbox") return control.checked || undefined;
  if (control.value === "") return undefined;
  if (control.type === "number") return Number(control.value);
  if (isText(field)) return control.value;
  try {
    return JSON.parse(control.value);
  } catch {
    return control.value; // the lab says what it expects
  }
}

// A form of few fields. submit: called with the values; its text result is shown, as is what was refused.
export function entry(text, controls, submit) {
  const said = el("p", { role: "status" });
  return el("form", { class: "bar", submit: async (event) => {
    event.preventDefault();
    said.className = said.textContent = "";
    try {
      const result = await submit();
      if (result != null) said.append(shown(result));
    } catch (error) {
      said.className = "wrong";
      said.textContent = error.message;
    }
  } }, controls, el("button", {}, text), said);
}

async function build(text, key, { given = {}, inner, first, only: names, suggested, examples = {}, long = [], preview, done }) {
  const fields = (await parameters(key, inner)).filter(({ name }) => !(name in given) && (names?.includes(name) ?? true));
  const lists = await suggested ?? {};
  const controls = new Map(fields.map((field) => [field, input(field, lists[field.name], examples[field.name], long.includes(field.name))]));
  const drawn = (field) => labelled(field.name + (field.required ? " *" : ""), controls.get(field),
    lists[field.name] && el("datalist", { id: `${field.name}-suggested` }, lists[field.name].map((value) => el("option", { value }))),
    field.text && el("small", {}, field.text.split("`").map((part, at) => at % 2 ? el("code", {}, part) : part)));
  const values = () => {
    const found = Object.fromEntries(fields.map((field) => [field.name, valueOf(field, controls.get(field))])
      .filter(([, value]) => value !== undefined));
    return { ...given, ...(inner ? { [inner]: found } : found) };
  };
  const told = preview && live(async () => fields.some((field) => field.required && controls.get(field).value === "")
    ? el("p", { class: "nothing" }, "Once the fields with * are filled, a sentence here says what will happen.") : el("p", { class: "told" }, await preview(values())));
  const [now, later] = [true, false].map((at) => fields.filter(({ name }) => (first?.includes(name) ?? true) === at));
  const made = entry(text, [
    el("div", { class: "fields" }, now.map(drawn)),
    later.length > 0 && el("details", {}, el("summary", {}, "more"), el("div", { class: "fields" }, later.map(drawn))),
    told,
  ], async () => {
    const result = await act(key, values());
    return result === undefined ? undefined : done?.(result) ?? "done";
  });
  if (told) made.addEventListener("input", () => told.refresh());
  return made;
}

// A form for an operation. given: arguments that have no field; inner: an argument whose own fields are shown; first:
// names of the fields that are shown at once, all unless given; only: of those that are shown at all; suggested: promise
// of lists of values by name; examples: texts in empty fields, by name; long: names of fields of several lines; preview:
// called with the arguments at each change, its result is shown before the button; done: called with the result. The
// form's `ready` is a promise that resolves once its fields are there.
export function form(text, key, options = {}) {
  const box = el("div", {}, el("p", { class: "nothing" }, "reading the parameters of the operation…"));
  box.ready = build(text, key, options).catch((error) => el("p", { class: "wrong" }, error.message))
    .then((made) => box.replaceChildren(made));
  return box;
}
