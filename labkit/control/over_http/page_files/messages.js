// What people got: mails, and the messages of phones and messengers.

import { acting, form } from "/page/actions.js";
import { button, el, live, table, when } from "/page/dom.js";
import { call, send } from "/page/lab.js";

const SHOWN = 100; // the newest mails, and messages
const WEB = /https?:\/\/[^\s<>"'`\\^{|}]+/g;

// A text whose web addresses are links.
function linked(text) {
  const parts = [];
  let end = 0;
  for (const { 0: url, index } of text.matchAll(WEB)) {
    parts.push(text.slice(end, index), el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url));
    end = index + url.length;
  }
  return [...parts, text.slice(end)];
}

async function openHtml(html) {
  open(await (await send("/page/document", html)).text(), "_blank", "noopener");
}

// The operation finds the newest mail with this subject of this solution to this person.
const following = ({ to: [to], subject, solution }, index, mails) =>
  mails.findIndex((each) => each.to[0] === to && each.subject === subject && each.solution === solution) === index
  && form("Follow a link", "mailbox.follow", { given: { to, subject, solution },
    done: ({ status, url, text }) => `${status} ${url} ${text}` });

const mail = (each, index, mails) => el("details", { class: "mail" },
  el("summary", {}, `${when(each.time)} ${each.subject || "(no subject)"} – to ${[...each.to, ...each.cc, ...each.bcc].join(", ")}`),
  el("dl", {}, ["solution", "sender", "to", "cc", "bcc"].filter((name) => each[name].length).map((name) =>
    [el("dt", {}, name), el("dd", {}, [each[name]].flat().join(", "))])),
  each.text && el("pre", { tabindex: 0 }, linked(each.text)),
  each.html && button("Open the HTML in a tab", () => openHtml(each.html)),
  /\bhttps?\b/.test(each.text + each.html) && following(each, index, mails));

export function show(into) {
  let seen = "";
  const mails = live(async () => {
    const found = (await call("mailbox.find")).slice(-SHOWN).reverse();
    const now = JSON.stringify(found);
    if (now === seen) return [...mails.childNodes]; // an open mail stays open
    seen = now;
    return found.length ? [found.map(mail), acting("Delete all mail", "mailbox.clear", {}, { question: "Delete all mail?" })].flat()
      : el("p", { class: "nothing" }, "No mail yet.");
  });
  const handsets = live(async () => table("Phones and messengers", ["Address", "State", "Messages", "Actions"],
    await call("handsets.all"), (each) => [each.address, each.online ? "online" : "offline", each.kept,
      acting(each.online ? "Switch off" : "Switch on", "handsets.switch", { address: each.address, online: !each.online })]));
  const messages = live(async () => table("Messages", ["Lab time", "Address", "Channel", "State", "Title", "Text"],
    (await call("handsets.messages")).slice(-SHOWN).reverse(), (each) =>
      [when(each.time), each.address, each.channel, each.state, each.title, each.text]));
  into.append(el("h3", {}, "Mails"), mails, el("h3", {}, "Phones and messengers"), handsets, messages);
}
