// A gateway that asks who somebody is.
import assert from "node:assert/strict";
import {after, before, test} from "node:test";
import {quiet} from "./looks.mjs";
import {Browser, Everturn} from "./rig.mjs";

let everturn, gateway, browser;
before(async () => {
  everturn = await Everturn.start();
  gateway = await everturn.gateway();
  browser = await Browser.start();
});
after(async () => {
  await browser?.stop();
  await gateway?.stop();
  await everturn?.stop();
});

test("a browser without a token is asked for one, and goes on to where it wanted to", async () => {
  await everturn.cli("send", "--chat", "mine", "hello");
  const {token} = JSON.parse(await everturn.cli("tokens", "create", "laptop", "--json"));
  const page = await browser.page(gateway);
  await page.goto(`${gateway.url}/c/mine`);
  await page.waitForURL(/\/login\?next=/);
  await page.getByLabel("Token").fill("evt_wrong");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("does not count").waitFor();
  await page.goto(`${gateway.url}/c/mine`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", {name: "Log in"}).click();
  await page.waitForURL(/\/c\/mine$/);
  await page.locator('[data-turn="1"][data-turn-status=completed]').waitFor();
  await page.getByLabel("Your message").fill("again");
  await page.keyboard.press("Enter");
  await page.locator('[data-turn="2"][data-turn-status=completed]').waitFor();
  await page.goto(gateway.url);
  await page.getByRole("button", {name: "Log out"}).click();
  await page.waitForURL(/\/login/);
  await page.goto(gateway.url);
  await page.waitForURL(/\/login/);
  assert.equal(await page.getByText("hello").count(), 0);
  quiet(page);
});

test("nobody is shown anything without a token", async () => {
  for (const path of ["/", "/c/mine", "/c/mine/live", "/c/mine/timeline", "/c/mine/timeline/at", "/c/mine/timeline/verify", "/c/mine/branches"]) {
    const answer = await fetch(gateway.url + path, {redirect: "manual"});
    assert.equal(answer.status, 303, path);
    assert.doesNotMatch(await answer.text(), /hello/);
  }
});
