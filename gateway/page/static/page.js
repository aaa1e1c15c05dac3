// What htmx does not do: an id for each command, keys, staying at the end of a chat
// that grows, times in the zone of whoever reads, and noticing that a network is gone.
(() => {
"use strict";

// Commands. The same form with the same words keeps its id until there is an answer, so
// that one that is sent again over a bad network is the same command.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const pending = new WeakMap();

function ulid() {
  let time = Date.now(), id = "";
  for (let i = 0; i < 10; i++) {
    id = alphabet[time % 32] + id;
    time = Math.floor(time / 32);
  }
  return id + Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => alphabet[b % 32]).join("");
}

document.addEventListener("htmx:config:request", (e) => {
  const form = e.detail.ctx.sourceElement;
  if (!form.matches?.("form[data-command]")) return;
  const words = new URLSearchParams(e.detail.ctx.request.body).toString();
  const known = pending.get(form);
  const id = known?.words === words ? known.id : ulid();
  pending.set(form, {words, id});
  e.detail.ctx.request.body.append("id", id);
});

document.addEventListener("htmx:after:request", (e) => {
  const form = e.detail.ctx.sourceElement;
  if (!form.matches?.("form[data-command]")) return;
  const status = e.detail.ctx.response.status;
  if (status >= 502 && status <= 504) return; // not decided: the next try is the same command
  const sent = new URLSearchParams(pending.get(form)?.words);
  pending.delete(form);
  if (status >= 400) return;
  const text = form.querySelector("textarea");
  if ("clear" in form.dataset && text?.value === sent.get("text")?.replaceAll("\r\n", "\n")) text.value = "";
  const edit = form.closest("details.edit, details.inline-edit, .side details");
  if (edit) edit.open = false;
});

// Whoever takes away what was not sent, and writes the same again, says it again.
document.addEventListener("input", (e) => {
  if (e.target.form?.matches("[data-command]") && !e.target.value.trim()) pending.delete(e.target.form);
});

function say(title, words) {
  const line = document.createElement("p");
  line.setAttribute("role", "alert");
  line.append(Object.assign(document.createElement("strong"), {textContent: title}), " " + words);
  document.getElementById("notice").replaceChildren(line);
}

document.addEventListener("htmx:error", (e) => {
  const form = e.detail.ctx?.sourceElement;
  if (form?.matches?.("form[data-command]")) say("Not sent.", "The server cannot be reached. Send it again: it counts once.");
});

document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") document.getElementById("notice").replaceChildren();
});

// The stream. htmx comes back by itself once it has been connected; before that, and
// when nothing was heard for too long, it is told to.
const silence = 35_000;
const stream = document.getElementById("stream");
let heard = Date.now(), over = false;

function connection(words) {
  const line = document.getElementById("connection");
  if (line && line.textContent !== words) line.textContent = words;
}

if (stream) {
  const alive = () => { heard = Date.now(); connection(""); };
  const lost = () => { if (!over) connection("The connection is lost. Trying again…"); };
  for (const name of ["htmx:sse:after:connection", "htmx:sse:after:message", "ping"]) stream.addEventListener(name, alive);
  stream.addEventListener("over", () => { over = true; connection("There is nothing more to see here."); });
  stream.addEventListener("htmx:sse:error", lost);
  stream.addEventListener("htmx:sse:before:connection", (e) => {
    if (over) e.detail.connection.cancelled = true;
  });
  for (const name of ["htmx:error", "htmx:response:error"]) {
    stream.addEventListener(name, (e) => {
      if (e.target !== stream || e.detail.ctx?.sourceElement !== stream) return;
      lost();
      setTimeout(reload, 2000);
    });
  }
  const written = () => [...document.querySelectorAll("textarea, input:not([type=hidden])")].some((f) => f.value !== f.defaultValue);
  const reload = () => written() ? setTimeout(reload, 2000) : location.reload(); // what somebody writes is not lost
  const again = () => stream._htmx?.sse?.reader?.cancel();
  setInterval(() => { if (Date.now() - heard > silence && !document.hidden) { heard = Date.now(); lost(); again(); } }, 5000);
  window.addEventListener("offline", lost);
  window.addEventListener("online", () => { // what was open may be half open now
    stream._htmx?.sse?.delayCanceller?.();
    again();
  });
}

// The end of a chat stays in view for whoever was there. What stands below the
// conversation on a narrow screen is not its end.
const talk = document.querySelector("main.talk");
const beyond = () => talk.getBoundingClientRect().bottom - innerHeight;
let atEnd = true;
if (talk) addEventListener("scroll", () => { atEnd = Math.abs(beyond()) < 120; }, {passive: true});
function follow() {
  if (talk && atEnd && beyond() > 0) scrollBy({top: beyond(), behavior: "instant"});
}

// Times in the reader's own zone, with their day where it is not today and not said above.
function localize() {
  days();
  const today = new Date().toDateString();
  for (const t of document.querySelectorAll("time[datetime]")) {
    const at = new Date(t.dateTime);
    let text;
    if ("day" in t.dataset) text = at.toLocaleDateString(undefined, {weekday: "long", day: "numeric", month: "long", year: "numeric"});
    else if ("full" in t.dataset) text = at.toLocaleString();
    else {
      const day = t.closest("[data-days]") || at.toDateString() === today ? {} : {day: "numeric", month: "short", year: "numeric"};
      text = at.toLocaleString(undefined, {hour: "2-digit", minute: "2-digit", ...day});
    }
    if (t.textContent !== text) t.textContent = text;
  }
}

// The list comes by the days of UTC, and is put under those of the reader.
function days() {
  const lists = [...document.querySelectorAll("ol[data-days=utc]")];
  const made = [];
  for (const row of lists.flatMap((list) => [...list.children])) {
    const {dateTime} = row.querySelector("time"), day = new Date(dateTime).toDateString();
    if (made.at(-1)?.day !== day) {
      const heading = lists[0].previousElementSibling.cloneNode(true), list = lists[0].cloneNode(false);
      heading.firstElementChild.dateTime = dateTime;
      list.dataset.days = "local";
      made.push({day, heading, list});
    }
    made.at(-1).list.append(row);
  }
  lists[0]?.previousElementSibling.before(...made.flatMap(({heading, list}) => [heading, list]));
  for (const list of lists) {
    list.previousElementSibling.remove();
    list.remove();
  }
}

// Focus that was on something which is gone now goes to the message that it was in.
let focused = null;
document.addEventListener("focusin", (e) => { focused = e.target.closest(".msg, .foot, #now"); });

// The timeline: what is shown at the side follows the slider.
function travel() {
  const moment = document.querySelector("#at .moment");
  if (!moment) return;
  const {rev, newest, look} = moment.dataset;
  const slider = document.getElementById("rev");
  if (document.activeElement !== slider) slider.value = rev;
  document.getElementById("look").value = look;
  document.getElementById("rev-shown").textContent = `rev ${rev} of ${newest}`;
  document.querySelector(".commits [aria-current]")?.removeAttribute("aria-current");
  const line = document.getElementById(`c-${rev}`);
  line?.setAttribute("aria-current", "step");
  const list = document.querySelector(".commits");
  if (line && list.scrollHeight > list.clientHeight) list.scrollTop = line.offsetTop - list.offsetTop - list.clientHeight / 2;
}

document.addEventListener("click", (e) => {
  const link = e.target.closest?.("#at a[href*='/timeline?'], .commits a[data-commit]");
  if (!link || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
  e.preventDefault();
  htmx.ajax("GET", link.getAttribute("href").replace("/timeline?", "/timeline/at?"), {target: "#at", swap: "innerMorph"});
});

function settled() {
  localize();
  follow();
  travel();
  if (focused && !focused.isConnected) focused = null;
  if (focused && document.activeElement === document.body) {
    (focused.matches(".msg") ? focused : document.getElementById("text"))?.focus({preventScroll: true});
  }
}
document.addEventListener("htmx:after:swap", settled);
document.addEventListener("DOMContentLoaded", settled);
if (document.readyState !== "loading") settled();

// Keys, for whoever does not write just now.
function step(by) {
  const all = [...document.querySelectorAll(".msg, .chat-row")];
  const at = all.findIndex((m) => m.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({block: "nearest"});
}

document.addEventListener("keydown", (e) => {
  if (e.target.matches?.("textarea[data-enter]") && e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    if (e.target.value.trim()) e.target.form.requestSubmit();
    return;
  }
  if (e.key === "Escape" && e.target.matches?.("textarea, input")) return e.target.blur();
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches?.("textarea, select, input:not([type=range])")) return;
  const go = (element) => { if (element) { e.preventDefault(); element.focus(); element.scrollIntoView({block: "nearest"}); } };
  const by = {ArrowLeft: "back", ArrowRight: "forth"}[e.key];
  if (by && !e.target.matches("#rev")) document.querySelector(`[data-step=${by}]`)?.click();
  else if (e.key === "j") step(1);
  else if (e.key === "k") step(-1);
  else if (e.key === "a") go(document.querySelector("[data-waits] button, [data-waits] input:not([type=hidden])"));
  else if (e.key === "?") document.getElementById("keys").togglePopover();
  else if ("/nws".includes(e.key)) go(document.querySelector(`[data-key="${e.key}"]`));
  else if ("gt".includes(e.key)) document.querySelector(`a[data-key="${e.key}"]`)?.click();
});
})();
