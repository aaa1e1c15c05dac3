// What a page shows, in the shape of a transcript, and what a transcript says, in the
// same shape.
import assert from "node:assert/strict";
import {readFile} from "node:fs/promises";
import {createRequire} from "node:module";

// letters is what Markdown leaves alone.
const letters = (text) => (text ?? "").replace(/[^\p{L}]+/gu, "");

// told is a transcript: who said what, and what became of each call.
export function told(transcript) {
  const of = (parts, type) => letters((parts ?? []).filter((p) => p.type === type).map((p) => p.text).join(""));
  return (transcript.messages ?? []).map((m) => ({
    n: m.n, role: m.role, text: of(m.parts, "text"), reasoning: of(m.parts, "reasoning"),
    calls: (m.parts ?? []).filter((p) => p.call).map((p) => ({
      id: p.call.id, tool: p.name, status: p.call.status, result: of(p.call.result, "text"),
    })),
  }));
}

// shown is the same, from the elements of a page.
export async function shown(page, root = "#messages") {
  const raw = await page.locator(`${root} .msg[data-n]`).evaluateAll((all) => all.map((m) => {
    const text = (nodes) => Array.from(nodes, (n) => n.textContent).join("");
    const own = (selector) => Array.from(m.querySelectorAll(selector)).filter((e) => !e.closest(".call"));
    return {
      n: Number(m.dataset.n), role: m.dataset.role, text: text(own(".part-text")), reasoning: text(own(".reasoning > .text")),
      calls: Array.from(m.querySelectorAll(".call[data-call]"), (c) => ({
        id: c.dataset.call, tool: c.querySelector(".tool").textContent, status: c.dataset.status,
        result: text(c.querySelectorAll(".result .part-text")),
      })),
    };
  }));
  return raw.map((m) => ({
    ...m, text: letters(m.text), reasoning: letters(m.reasoning), calls: m.calls.map((c) => ({...c, result: letters(c.result)})),
  }));
}

// same fails unless a page shows what a transcript says: no hole, nothing twice.
export async function same(page, transcript, root) {
  assert.deepEqual(await shown(page, root), told(transcript));
}

// quiet fails if a page has complained or has asked somebody else for something.
export function quiet(page) { assert.deepEqual(page.faults, []); }

// lost takes away the complaints that a lost network causes, and no others.
export function lost(page) {
  const network = /Failed to load resource|net::ERR_|htmx:sse:error|htmx:error: (Failed to fetch|network error|NetworkError)|network error/i;
  const others = page.faults.filter((f) => !network.test(f));
  page.faults.length = 0;
  page.faults.push(...others);
}

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// accessible fails on findings that keep people out. The rules are put into the page by
// the debugger, which no policy of the page's holds back.
export async function accessible(page, what) {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", {expression: axe});
  const {result, exceptionDetails} = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify(r.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.target.join(' ') + ': ' + n.failureSummary)])))",
    awaitPromise: true, returnByValue: true,
  });
  await session.detach();
  assert.equal(exceptionDetails, undefined);
  const found = JSON.parse(result.value).filter(([impact]) => impact === "serious" || impact === "critical");
  assert.deepEqual(found, [], `${what} keeps people out`);
}
