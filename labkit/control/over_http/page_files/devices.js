// The devices of a product; one of them with its newest values, and what can be done to it.

import { act, acting, entry } from "/page/actions.js";
import { button, chart, choice, el, labelled, live, shown, table, when } from "/page/dom.js";
import { call } from "/page/lab.js";
import { isProblem, records } from "/page/records.js";

const PAGE = 50; // devices
const POINTS = 100; // of a chart
const chosen = { product: "", pattern: "", offset: 0, identity: "" };

async function sql(query) {
  const { columns, rows } = await call("database.sql", { query });
  return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
}

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

async function facts() {
  const { product, identity } = chosen;
  const key = { product, identity };
  const where = `product = ${quoted(product)} and identity = ${quoted(identity)}`;
  const [points, [device], polls] = await Promise.all([
    sql(`select alias, timestamp, value from (select *, row_number() over (partition by alias order by timestamp desc) as place
      from datapoint where ${where}) where place <= ${POINTS} order by alias, timestamp`),
    sql(`select whitelisted, locked, provisioned from device where ${where}`),
    call("polls.all", key)]);
  if (!device) return el("p", {}, `${identity} is not known any more.`);
  const refused = records.kept.findLast((each) => each.actor === `${product}/${identity}` && isProblem(each));
  const about = [
    ["State", device.locked ? "locked" : device.provisioned === null ? "not activated" : "provisioned"],
    ["Whitelisted", device.whitelisted ? "yes" : "no"],
    ["Credential since", device.provisioned === null ? "none" : when(device.provisioned)],
    ["Open polls", polls.items.map((each) => `${each.alias}${each.until === null ? "" : ` until ${when(each.until)}`}`).join(", ") || "none"],
    ["Last refusal", refused ? `${when(refused.time)} ${refused.status ?? ""} ${refused.summary}: ${refused.why}` : "none seen"]];
  const series = [...Map.groupBy(points, (each) => each.alias)];
  return [
    el("dl", {}, about.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    table("Newest values", ["Alias", "Value", "Lab time", "Course"], series, ([alias, some]) =>
      [alias, some.at(-1).value, when(some.at(-1).timestamp), chart(alias, some.map(({ timestamp, value }) => [timestamp, Number(value)]))]),
    el("p", { class: "bar" },
      device.locked ? acting("Unlock", "identities.unlock", key) : acting("Lock", "identities.lock", key),
      acting("Forget its credentials", "identities.forget_credentials", key,
        { question: `Forget the credentials of ${identity}? The device has to activate anew.` }),
      acting("Remove", "identities.remove", key, { question: `Remove ${identity} with its credentials?` }))];
}

export async function show(into) {
  const products = (await call("products.all")).map((each) => each.id);
  if (!products.length) return into.append(el("p", {}, "The lab has no product yet."));
  if (!products.includes(chosen.product)) Object.assign(chosen, { product: products[0], offset: 0, identity: "" });
  const one = el("section");
  const choose = async (identity) => {
    const { product } = Object.assign(chosen, { identity });
    if (!identity) return one.replaceChildren();
    const { settings } = await call("products.get", { id: product });
    const linked = (await call("solutions.all")).find((each) => each.products.includes(product));
    const aliases = Object.keys(settings.resources);
    const alias = choice(aliases), value = el("input");
    const said = el("p", { role: "status" });
    const as = (action, given) => async () => {
      const answer = await act("devices.act", { product, identity, action, ...given?.() });
      if (answer) said.textContent = `${answer.status ?? "no answer"} ${answer.reason}${Object.keys(answer.values).length ? shown(answer.values) : ""}`;
    };
    const values = () => ({ [alias.value]: value.value });
    const write = as("write", () => ({ values: values() }));
    one.replaceChildren(el("h3", {}, `${product}/${identity}`), live(facts),
      el("form", { class: "bar", submit: (event) => write(event.preventDefault()) },
        labelled("Resource", alias), labelled("Value", value),
        el("button", {}, "Write as the device"),
        linked && button("Write from the cloud", async () => {
          const called = { solution: linked.id, service: "Device2", operation: "setIdentityState", parameters: { identity, pid: product, ...values() } };
          said.textContent = (await act("services.call", called))?.value.error ?? "";
        }),
        button("Read as the device", as("read", () => ({ aliases }))),
        button("Activate it", as("activate")),
        acting("Cut its connections", "devices.cut", { product, identity })),
      said);
  };
  const list = live(async () => {
    const { product, pattern, offset } = chosen;
    const found = await call("identities.all", { product, offset, limit: PAGE + 1, ...pattern && { pattern } });
    const move = (by) => () => list.refresh(chosen.offset += by);
    return [table("Devices", ["Identity", "State", "Whitelisted"], found.slice(0, PAGE), (each) =>
      [button(each.identity, () => choose(each.identity), { class: "plain" }), each.status, each.whitelisted ? "yes" : "no"]),
    el("p", { class: "bar" }, offset > 0 && button("Previous", move(-PAGE)), found.length > PAGE && button("Next", move(PAGE)))];
  });
  const pattern = el("input", { type: "search", value: chosen.pattern, placeholder: "t-*", input: () =>
    list.refresh(Object.assign(chosen, { pattern: pattern.value, offset: 0 })) });
  const allowed = el("input", { required: true });
  into.append(
    el("form", { class: "bar", submit: (event) => event.preventDefault() },
      labelled("Product", choice(products, (product) => {
        Object.assign(chosen, { product, offset: 0 });
        choose("");
        list.refresh();
      }, chosen.product)),
      labelled("Identity", pattern)),
    list,
    entry("Whitelist", labelled("Whitelist an identity", allowed), () =>
      act("identities.allow", { product: chosen.product, identities: [allowed.value] })),
    one);
  choose(chosen.identity);
}
