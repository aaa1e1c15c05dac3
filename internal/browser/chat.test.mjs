// A chat in a real browser.
import assert from "node:assert/strict";
import {readFile} from "node:fs/promises";
import {join} from "node:path";
import {after, before, test} from "node:test";
import {accessible, quiet, same, shown} from "./looks.mjs";
import {Browser, Everturn, until} from "./rig.mjs";

let everturn, browser;
before(async () => {
  everturn = await Everturn.start();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await everturn?.stop();
});

// begin says the first thing in a new chat, and gives the chat's name.
async function begin(page, text) {
  await page.goto(everturn.url);
  await page.getByLabel("Your first message").fill(text);
  await page.getByRole("button", {name: "New chat"}).click();
  await page.waitForURL(/\/c\/[0-9A-Z]{26}$/);
  return page.url().split("/").pop();
}

const ended = (page, turn, status = "completed") => page.locator(`[data-turn="${turn}"][data-turn-status=${status}]`).waitFor();
const act = (page, name) => page.getByRole("button", {name, exact: true});

async function say(page, text) {
  await page.getByLabel("Your message").fill(text);
  await page.keyboard.press("Enter");
}

test("a tool call that is approved runs, and the page shows what the log says", async () => {
  const page = await browser.page(everturn);
  const chat = await begin(page, "Please write a packing list");
  await page.locator('.call[data-call="1.2.1"][data-status=approval]').waitFor();
  await assert.rejects(readFile(join(everturn.folder, "packing.md")), {code: "ENOENT"});
  await same(page, await everturn.transcript(chat));
  await accessible(page, "a chat that waits for an approval");
  await act(page, "Approve").click();
  await ended(page, 1);
  assert.match(await readFile(join(everturn.folder, "packing.md"), "utf8"), /walking shoes/);
  await same(page, await everturn.transcript(chat));
  assert.equal(await page.locator("#messages table").count(), 1, "Markdown is shown");
  assert.equal(await page.locator("#live .msg").count(), 0, "nothing is on its way any more");
  await page.reload();
  await same(page, await everturn.transcript(chat));
  quiet(page);
});

test("a call is denied with a reason, and runs with other arguments", async () => {
  const page = await browser.page(everturn);
  const chat = await begin(page, "packing, but not today");
  await page.locator("[data-status=approval]").waitFor();
  await page.getByText("Deny with a reason").click();
  await page.getByLabel("The model is told why").fill("it was denied on purpose");
  await page.locator(".decide details[open]").getByRole("button", {name: "Deny"}).click();
  await ended(page, 1);
  await page.getByText("Then I leave your folder as it is.").waitFor();
  assert.match(JSON.stringify(await everturn.transcript(chat)), /denied on purpose/);

  await say(page, "packing once more");
  await page.locator('.call[data-call="2.2.1"][data-status=approval]').waitFor();
  await page.getByText("Edit the arguments").click();
  await page.getByLabel("Arguments, as JSON").fill('{"path": "other.md", "content": "edited"}');
  await act(page, "Approve with these").click();
  await ended(page, 2);
  assert.equal(await readFile(join(everturn.folder, "other.md"), "utf8"), "edited");
  await same(page, await everturn.transcript(chat));
  quiet(page);
});

test("arguments that are no JSON are refused, and nothing is decided", async () => {
  const page = await browser.page(everturn);
  await begin(page, "packing with a slip of the pen");
  await page.locator("[data-status=approval]").waitFor();
  await page.getByText("Edit the arguments").click();
  await page.getByLabel("Arguments, as JSON").fill("{");
  await act(page, "Approve with these").click();
  await page.getByRole("alert").getByText("These arguments are no JSON").waitFor();
  assert.equal(await page.locator("[data-status=approval]").count(), 1);
  assert.equal(await page.getByLabel("Arguments, as JSON").inputValue(), "{", "what was typed stays");
  page.faults.splice(0, page.faults.length, ...page.faults.filter((f) => !f.includes("422"))); // the browser notes every refusal
  quiet(page);
});

test("a question is answered in place", async () => {
  const page = await browser.page(everturn);
  await everturn.cli("send", "--chat", "asks", "--tools", "ask_user", "Help me choose");
  await page.goto(`${everturn.url}/c/asks`);
  await page.getByLabel("up to 200").check();
  await accessible(page, "a question");
  await act(page, "Answer").click();
  await ended(page, 1);
  await same(page, await everturn.transcript("asks"));
  assert.match(await page.locator("#messages").innerText(), /Noted:[^]*up to 200/);
  quiet(page);
});

test("inputs wait, go first and are taken back, and a turn is stopped", async () => {
  const page = await browser.page(everturn);
  const chat = await begin(page, "Count slowly");
  await page.locator("#live .md").waitFor();
  for (const text of ["first words", "second words", "third words"]) {
    await say(page, text);
    await page.locator("#queue li > .text").getByText(text).waitFor();
    assert.equal(await page.getByLabel("Your message").inputValue(), "", "what was sent is not in the form any more");
  }
  const waiting = (text) => page.locator("#queue li").filter({hasText: text});
  await waiting("second words").getByRole("button", {name: "Take back"}).click();
  await waiting("second words").waitFor({state: "detached"});
  await waiting("third words").getByRole("button", {name: "First"}).click();
  await page.locator("#queue li > .text").first().getByText("third words").waitFor();
  await waiting("first words").getByText("Change").click();
  await waiting("first words").getByLabel("New text").fill("changed words");
  await waiting("first words").getByRole("button", {name: "Save"}).click();
  await page.locator("#queue li > .text").getByText("changed words").waitFor();
  await act(page, "Stop").click();
  await ended(page, 1, "interrupted");
  await ended(page, 2);
  assert.equal(await page.locator("#queue li").count(), 0);
  await same(page, await everturn.transcript(chat));
  assert.match(await page.locator("#messages").innerText(), /It was stopped here/);
  quiet(page);
});

test("a failure is told kindly, and can be tried again", async () => {
  const page = await browser.page(everturn);
  const chat = await begin(page, "Please fail");
  await ended(page, 1, "failed");
  assert.equal(await page.locator(".turn-note.bad .what").innerText().then((t) => t.includes("could not answer")), true);
  await act(page, "Try again").click();
  await ended(page, 2, "failed");
  await same(page, await everturn.transcript(chat));
  quiet(page);
});

test("edit and answer again make branches, which can be selected; a fork goes on elsewhere", async () => {
  const page = await browser.page(everturn);
  const chat = await begin(page, "What is blue?");
  await ended(page, 1);
  await page.locator(".msg.user .edit summary").click();
  await page.getByLabel("Say instead").fill("What is red?");
  await act(page, "Send instead").click();
  await ended(page, 2);
  assert.match(await page.locator("#messages").innerText(), /2 of 2/);
  assert.doesNotMatch(await page.locator("#messages").innerText(), /blue/);
  await same(page, await everturn.transcript(chat));
  await act(page, "Earlier version").click();
  await page.locator("#messages").getByText("1 of 2").waitFor();
  assert.match(await page.locator("#messages").innerText(), /blue/);
  await act(page, "Answer again").click();
  await ended(page, 3);
  await page.locator("#messages").getByText("3 of 3").waitFor();
  await same(page, await everturn.transcript(chat));
  await page.getByText("Ways through this chat").click();
  await page.locator("#branches li").filter({hasText: "red"}).getByRole("button", {name: "Go on here"}).click();
  await page.locator("#messages").getByText("2 of 3").waitFor();
  await same(page, await everturn.transcript(chat));
  await act(page, "Fork here").click();
  await page.waitForURL((u) => !u.pathname.endsWith(chat));
  const fork = page.url().split("/").pop();
  assert.match(await page.locator("#messages").innerText(), /red/);
  await same(page, await everturn.transcript(fork));
  quiet(page);
});

test("a chat is renamed, put away and brought back, and only plans", async () => {
  const page = await browser.page(everturn);
  await begin(page, "hello");
  await ended(page, 1);
  await page.getByText("Rename", {exact: true}).first().click();
  await page.getByLabel("Title").fill("Another name");
  await page.locator("#side").getByRole("button", {name: "Rename"}).click();
  await page.locator("h1").getByText("Another name").waitFor();
  await act(page, "Archive").click();
  await page.locator("#head").getByText("archived").waitFor();
  await act(page, "Bring back").click();
  await act(page, "Archive").waitFor();
  await page.getByText("Approvals and planning").click();
  await act(page, "Let it only plan").click();
  await page.locator("#head").getByText("plans only").waitFor();
  quiet(page);
});

test("what others say is text, wherever it stands", async () => {
  const page = await browser.page(everturn);
  const chat = await begin(page, "hostile </textarea><script>alert('input')</script>");
  await ended(page, 1);
  await everturn.cli("rename", chat, "</title><script>alert('title')</script>");
  await page.locator("h1").getByText("</title>").waitFor();
  for (const d of await page.locator("#messages details").all()) await d.evaluate((e) => { e.open = true; });
  await same(page, await everturn.transcript(chat));
  const foreign = await page.evaluate(() => [
    document.querySelectorAll("script:not([src^='/static/'])").length, document.querySelectorAll("#messages img, #messages iframe, #messages [onerror], #messages [hx-get]").length,
    Array.from(document.querySelectorAll("a")).filter((a) => a.protocol === "javascript:").length,
  ]);
  assert.deepEqual(foreign, [0, 0, 0]);
  await accessible(page, "a hostile chat");
  await say(page, "fail <img src=x onerror=alert('input')>");
  await ended(page, 2, "failed");
  await page.goto(`${everturn.url}/c/${chat}/timeline`);
  for (const look of ["Conversation", "What the model saw", "State", "Raw commit"]) {
    await page.getByRole("link", {name: look}).click();
    await page.locator(`.looks a[aria-current]`).getByText(look).waitFor();
    for (const d of await page.locator("#at details").all()) await d.evaluate((e) => { e.open = true; });
    assert.equal(await page.locator("#at img, #at script").count(), 0);
  }
  await page.goto(everturn.url);
  quiet(page);
});

test("with a keyboard alone", async () => {
  const page = await browser.page(everturn);
  await page.goto(everturn.url);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip", "the first stop skips to the content");
  await page.keyboard.press("n");
  await page.keyboard.type("packing by hand");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/c\//);
  await page.locator("[data-status=approval]").waitFor();
  await page.keyboard.press("a");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Approve");
  await page.keyboard.press("Enter");
  await ended(page, 1);
  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "BODY", "the focus is not lost with the button that had it");
  await page.keyboard.press("w");
  await page.keyboard.type("one line");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("another line");
  await page.keyboard.press("Enter");
  await ended(page, 2);
  assert.equal((await shown(page)).at(-2).text, "onelineanotherline");
  await page.keyboard.press("Escape");
  await page.keyboard.press("k");
  assert.match(await page.evaluate(() => document.activeElement.id), /^m-/);
  await page.keyboard.press("?");
  await page.getByRole("dialog", {name: "Keyboard shortcuts"}).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  await page.waitForURL(/\/timeline$/);
  const rev = () => page.locator("#at .moment").getAttribute("data-rev").then(Number);
  const newest = await rev();
  await page.keyboard.press("ArrowLeft");
  await until("the slider went back", async () => await rev() === newest - 1);
  await page.keyboard.press("t");
  await page.waitForURL((u) => !u.pathname.endsWith("timeline"));
  quiet(page);
});

test("without a script a chat can be read, and commands be sent", async () => {
  const page = await browser.page(everturn, {javaScriptEnabled: false});
  const chat = await begin(page, "no script here");
  await until("the turn has ended", async () => (await everturn.transcript(chat)).status === "idle");
  await page.reload();
  await same(page, await everturn.transcript(chat));
  await page.getByLabel("Your message").fill("again");
  await page.getByRole("button", {name: "Send", exact: true}).click();
  await until("it was said", async () => (await everturn.transcript(chat)).message_count === 4);
  quiet(page);
});
