// The timeline, and that everybody can use all pages.
import assert from "node:assert/strict";
import {mkdir} from "node:fs/promises";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {accessible, quiet, same} from "./looks.mjs";
import {Browser, Everturn, until} from "./rig.mjs";

let everturn, browser, commits;
const chat = "lisbon";
before(async () => {
  everturn = await Everturn.start();
  browser = await Browser.start();
  const page = await browser.page(everturn);
  await everturn.cli("send", "--chat", chat, "Please write a packing list for three days in Lisbon");
  await page.goto(`${everturn.url}/c/${chat}`);
  await page.getByRole("button", {name: "Approve", exact: true}).click();
  await page.locator('[data-turn="1"][data-turn-status=completed]').waitFor();
  await everturn.cli("send", "--chat", chat, "And what about an umbrella?");
  await page.locator('[data-turn="2"][data-turn-status=completed]').waitFor();
  await everturn.cli("edit", chat, "And what about a hat?");
  await page.locator('[data-turn="3"][data-turn-status=completed]').waitFor();
  commits = (await everturn.cli("log", chat, "--json")).trim().split("\n");
  await page.context().close();
});
after(async () => {
  await browser?.stop();
  await everturn?.stop();
});

const at = (page, rev, look) => page.locator(`#at .moment[data-rev="${rev}"][data-look=${look}]`).waitFor();

test("every rev is shown as the command line shows it", async () => {
  const page = await browser.page(everturn);
  await page.goto(`${everturn.url}/c/${chat}/timeline`);
  await at(page, commits.length, "chat");
  assert.equal(await page.locator(".commits [data-commit]").count(), commits.length);
  const slider = page.getByLabel("Time travel");
  for (let rev = 1; rev <= commits.length; rev++) {
    await slider.fill(`${rev}`);
    await at(page, rev, "chat");
    const then = await everturn.transcript(chat, "--at", `${rev}`);
    assert.equal(then.rev, rev);
    await same(page, then, "#at");
    assert.equal(await page.locator("#at .past").getAttribute("data-status"), then.status);
    assert.equal(await page.locator(`#c-${rev}`).getAttribute("aria-current"), "step");
    assert.match(page.url(), new RegExp(`rev=${rev}\\b`));
    assert.equal(await page.locator("#at button").count(), 0, "nothing can be done about the past");
  }
  quiet(page);
});

test("at every rev there is what is stored, what is decided from, and what the model saw", async () => {
  const page = await browser.page(everturn);
  await page.goto(`${everturn.url}/c/${chat}/timeline?rev=1&look=raw`);
  for (let rev = 1; rev <= commits.length; rev++) {
    await page.getByLabel("Time travel").fill(`${rev}`);
    await at(page, rev, "raw");
    const stored = JSON.parse(commits[rev - 1]);
    assert.deepEqual(JSON.parse(await page.locator("#raw").innerText()), stored);
    assert.deepEqual(await page.locator("#at .events .ev").allInnerTexts(), stored.events.map((e) => e.type));
    assert.match(await page.locator("#at .cause").innerText(), new RegExp(stored.cause.kind));
  }
  await page.getByRole("link", {name: "State"}).click();
  for (let rev = 1; rev <= commits.length; rev++) {
    await page.getByLabel("Time travel").fill(`${rev}`);
    await at(page, rev, "state");
    assert.equal(typeof JSON.parse(await page.locator("#state").innerText()), "object");
  }
  await page.getByRole("link", {name: "What the model saw"}).click();
  const asked = (rev) => commits.slice(0, rev).flatMap((c) => JSON.parse(c).events).filter((e) => e.type === "step.requested.v1").at(-1);
  for (let rev = 1; rev <= commits.length; rev++) {
    await page.getByLabel("Time travel").fill(`${rev}`);
    await at(page, rev, "prompt");
    const step = asked(rev);
    if (!step) {
      assert.equal(await page.locator("#at .seen").count(), 0);
      continue;
    }
    await page.locator("#at .look").getByText(`step ${step.data.step}, ${step.data.purpose}`).waitFor();
    await page.locator("#at .look").getByText("byte for byte").waitFor();
  }
  await page.locator("#verdict").getByText(`No rule broken up to rev ${commits.length}`).waitFor();
  quiet(page);
});

test("a waterfall says where the time of a turn went", async () => {
  const page = await browser.page(everturn);
  await page.goto(`${everturn.url}/c/${chat}/timeline?rev=5`);
  const labels = await page.locator(".waterfall .label").allInnerTexts();
  for (const label of ["model 1.1", "list_directory 1.1.1", "approval of write_file 1.2.1", "write_file 1.2.1", "model 1.3"]) {
    assert.ok(labels.includes(label), `${label} is missing among ${labels}`);
  }
  assert.match(await page.locator(".waterfall h2").innerText(), /model .* tools .* people /);
  quiet(page);
});

// pages are all that people see, with what to wait for.
const pages = {
  list: ["/", "#results"],
  search: ["/?q=umbrella", "#results"],
  chat: [`/c/${chat}`, '[data-turn="3"]'],
  timeline: [`/c/${chat}/timeline`, "#verdict p.ok"],
  prompt: [`/c/${chat}/timeline?rev=6&look=prompt`, ".seen"],
  state: [`/c/${chat}/timeline?rev=6&look=state`, "#state"],
  raw: [`/c/${chat}/timeline?rev=6&look=raw`, "#raw"],
  login: ["/login", "form"],
  trouble: ["/c/none", ".trouble"],
};

for (const colorScheme of ["light", "dark"]) {
  test(`everybody can use all pages, ${colorScheme}`, async () => {
    const page = await browser.page(everturn, {colorScheme});
    for (const [name, [path, there]] of Object.entries(pages)) {
      await page.goto(everturn.url + path);
      await page.locator(there).first().waitFor();
      for (const d of await page.locator("details").all()) await d.evaluate((e) => { e.open = true; });
      await accessible(page, `${name}, ${colorScheme}`);
    }
    page.faults.splice(0, page.faults.length, ...page.faults.filter((f) => !f.includes("404"))); // of the chat that is none
    quiet(page);
  });
}

test("on a narrow screen nothing is cut off", async () => {
  const page = await browser.page(everturn, {viewport: {width: 360, height: 700}, hasTouch: true});
  for (const [name, [path, there]] of Object.entries(pages)) {
    await page.goto(everturn.url + path);
    await page.locator(there).first().waitFor();
    const [width, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(width <= room, `${name} is ${width} wide where there is room for ${room}`);
  }
  await page.goto(`${everturn.url}/c/${chat}`);
  await until("the end of the conversation is in view", () => page.evaluate(() => {
    const at = (selector) => document.querySelector(selector).getBoundingClientRect();
    return at('[data-turn="3"]').bottom <= at("#composer").top + 1 && Math.abs(at("#composer").bottom - innerHeight) < 40;
  }));
});

test("a new chat is in the list, and is found by its words", async () => {
  const page = await browser.page(everturn);
  await page.goto(everturn.url);
  const row = page.locator(".chat-row").filter({hasText: "packing list"});
  await until("the chat is listed", async () => { await page.reload(); return await row.count() === 1; });
  await page.getByLabel("Search in all chats").fill("umbrella");
  await page.locator(".snippet mark").getByText("umbrella").first().waitFor();
  await page.locator(".chat-row").first().click();
  await page.waitForURL(/\/c\/lisbon$/);
  quiet(page);
});

test("chats stand under the days of whoever reads", async () => {
  await everturn.cli("send", "--chat", "porto", "And what of Porto?");
  const page = await browser.page(everturn, {timezoneId: "Asia/Tokyo"});
  const row = page.locator(".chat-row").filter({hasText: "Porto"});
  await until("the chat is listed", async () => { await page.goto(everturn.url); return await row.count() === 1; });
  // Both changed on one day of UTC, but not of Tokyo.
  const times = ["2026-03-04T16:00:00.000Z", "2026-03-04T01:00:00.000Z"];
  await page.route(`${everturn.url}/`, async (route) => {
    const response = await route.fetch();
    let n = 0;
    const body = (await response.text()).replace(/(<\/a>)<time datetime="[^"]*"/g, (_, end) => `${end}<time datetime="${times[Math.min(n++, 1)]}"`);
    await route.fulfill({response, body});
  });
  await page.goto(everturn.url);
  await page.locator("[data-days=local]").first().waitFor();
  const days = await page.locator("#results h2:has([data-day])").allTextContents();
  assert.deepEqual(days.map((d) => d.replace(",", "")), ["Thursday 5 March 2026", "Wednesday 4 March 2026"]);
  assert.deepEqual(await page.locator("[data-days] .chat-row + time").allTextContents(), ["01:00", "10:00"]);
  quiet(page);
});

// The pictures of README and docs, where EVERTURN_PICTURES says to make them.
const pictures = process.env.EVERTURN_PICTURES;
if (pictures) {
  test("pictures", async () => {
    await mkdir(pictures, {recursive: true});
    for (const [id, text, title] of [["release", "Summarise what changed since the last release", "Release notes for 1.8"], ["invoice", "choose an invoice number format", "Invoice numbers"],
      ["onboarding", "Draft the onboarding mail for Maya", "Onboarding mail for Maya"], ["budget", "packing the budget review", "Budget review, second half"]]) {
      await everturn.cli("send", "--chat", id, text);
      await everturn.cli("rename", id, title);
    }
    await everturn.cli("rename", chat, "Three days in Lisbon");
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.page(everturn, {colorScheme, viewport: {width: 1200, height: 920}});
      const shoot = (name) => page.screenshot({path: join(pictures, `${name}-${colorScheme}.png`)});
      await page.goto(everturn.url);
      await until("all are listed", async () => { await page.reload(); return await page.locator(".chat-row").count() >= 5; });
      await shoot("list");
      const open = `lisbon-${colorScheme}`;
      await everturn.cli("send", "--chat", open, "Please write a packing list for three days in Lisbon");
      await everturn.cli("rename", open, "Three days in Lisbon");
      await page.goto(`${everturn.url}/c/${open}`);
      await page.locator("[data-status=approval]").waitFor();
      await shoot("chat");
      await page.goto(`${everturn.url}/c/${chat}/timeline?rev=5`);
      await page.locator("#verdict p.ok").waitFor();
      await shoot("timeline");
    }
  });
}
