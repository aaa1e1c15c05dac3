// A chat in a real browser, while servers die and networks drop.
import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {lost, quiet, same} from "./looks.mjs";
import {Browser, Everturn, Network, until} from "./rig.mjs";

let everturn, network, browser;
before(async () => {
  everturn = await Everturn.start();
  network = await Network.to(everturn);
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  network?.stop();
  await everturn?.stop();
});

const whole = "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen, seventeen, eighteen, nineteen, twenty, that is all.";

// count begins an answer that takes a while, and waits until some of it is shown.
async function count(page) {
  await page.goto(network.url);
  await page.getByLabel("Your first message").fill("Count slowly");
  await page.getByRole("button", {name: "New chat"}).click();
  await page.waitForURL(/\/c\//);
  await page.locator("#live .md").getByText("three").waitFor();
  return page.url().split("/").pop();
}

// once fails unless the answer stands there, whole and once.
async function once(page, chat) {
  await page.locator('[data-turn="1"][data-turn-status=completed]').waitFor();
  await same(page, await everturn.transcript(chat));
  assert.deepEqual(await page.locator(".msg.assistant .md").allInnerTexts(), [whole]);
  assert.equal(await page.locator("#connection").innerText(), "");
}

test("the server is killed in mid-answer, and started again", async () => {
  const page = await browser.page(network);
  const chat = await count(page);
  await everturn.kill();
  await page.locator("#connection").getByText("The connection is lost").waitFor();
  assert.match(await page.locator("#live").innerText(), /One, two, three/, "what was shown stays");
  await page.getByLabel("Your message").fill("typed while it was away");
  await everturn.run();
  await until("the page is connected again", async () => await page.locator("#connection").innerText() === "");
  assert.equal(await page.getByLabel("Your message").inputValue(), "typed while it was away", "what was typed stays");
  await once(page, chat);
  await page.getByLabel("Your message").press("Enter");
  await page.locator('[data-turn="2"][data-turn-status=completed]').waitFor();
  await same(page, await everturn.transcript(chat));
  lost(page);
  quiet(page);
});

for (const [how, lose] of [["drops", "drop"], ["falls silent", "silence"]]) {
  test(`the network ${how} in mid-answer, and comes back when all is over`, async () => {
    const page = await browser.page(network);
    const chat = await count(page);
    network[lose]();
    await page.context().setOffline(true);
    await page.locator("#connection").getByText("The connection is lost").waitFor();
    await until("the turn has ended", async () => (await everturn.transcript(chat)).status === "idle");
    assert.equal(await page.locator("[data-turn-status=completed]").count(), 0, "nobody can have told the page");
    network.restore();
    await page.context().setOffline(false);
    await once(page, chat);
    lost(page);
    quiet(page);
  });

  test(`the network ${how} in mid-answer, and comes back before its end`, async () => {
    const page = await browser.page(network);
    const chat = await count(page);
    network[lose]();
    await page.context().setOffline(true);
    await page.locator("#connection").getByText("The connection is lost").waitFor();
    network.restore();
    await page.context().setOffline(false);
    await until("the page is connected again", async () => await page.locator("#connection").innerText() === "");
    await once(page, chat);
    lost(page);
    quiet(page);
  });
}

test("what is sent without a network counts once when it is sent again", async () => {
  const page = await browser.page(network);
  await page.goto(network.url);
  await page.getByLabel("Your first message").fill("hello");
  await page.getByRole("button", {name: "New chat"}).click();
  await page.locator('[data-turn="1"]').waitFor();
  const chat = page.url().split("/").pop();
  // The command arrives, and its answer does not.
  await page.route("**/send", async (route) => { await route.fetch(); await route.abort("connectionreset"); }, {times: 1});
  await page.getByLabel("Your message").fill("only once");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("Not sent").waitFor();
  assert.equal(await page.getByLabel("Your message").inputValue(), "only once");
  await page.keyboard.press("Enter");
  await until("it is sent", async () => await page.getByLabel("Your message").inputValue() === "");
  await page.locator('[data-turn="2"][data-turn-status=completed]').waitFor();
  const told = await everturn.transcript(chat);
  assert.equal(told.messages.filter((m) => m.parts[0].text === "only once").length, 1);
  await same(page, told);
  lost(page);
  quiet(page);
});

test("what somebody takes away and writes again is said again", async () => {
  const page = await browser.page(network);
  const chat = await count(page);
  await page.locator('[data-turn="1"][data-turn-status=completed]').waitFor();
  await page.route("**/send", async (route) => { await route.fetch(); await route.abort("connectionreset"); }, {times: 1});
  const words = page.getByLabel("Your message");
  await words.fill("say it twice");
  await page.keyboard.press("Enter");
  await page.locator('[data-turn="2"][data-turn-status=completed]').waitFor();
  await words.fill("");
  await words.fill("say it twice");
  await page.keyboard.press("Enter");
  await page.locator('[data-turn="3"][data-turn-status=completed]').waitFor();
  const told = await everturn.transcript(chat);
  assert.equal(told.messages.filter((m) => m.parts[0].text === "say it twice").length, 2);
  lost(page);
  quiet(page);
});

test("two who look at one chat see the same", async () => {
  const [a, b] = [await browser.page(network), await browser.page(network)];
  const chat = await count(a);
  await b.goto(a.url());
  await b.locator("#live .md").getByText("One, two, three").waitFor();
  await once(a, chat);
  await once(b, chat);
  quiet(a);
  quiet(b);
});
