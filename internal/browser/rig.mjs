// What the tests need: an Everturn that can be killed, its command line, and a browser
// that notes everything a page should not do.
import {execFile, spawn} from "node:child_process";
import {mkdtemp, rm} from "node:fs/promises";
import {connect, createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {promisify} from "node:util";
import {chromium} from "playwright-core";

const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const binary = process.env.EVERTURN_BINARY ?? join(here, "../../bin/everturn");
const script = join(here, "script.yaml");
const browserBinary = process.env.CHROMIUM ?? "/usr/bin/chromium";

// How long anything may take that a test waits for. It waits for facts: this is only
// when it gives up.
export const patience = 30_000;

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const {port} = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

// Everturn is `everturn dev` with a folder of its own, at an address that stays.
export class Everturn {
  static async start() {
    const e = new Everturn();
    e.folder = await mkdtemp(join(tmpdir(), "everturn-browser-"));
    e.ports = [await freePort(), await freePort()];
    e.url = `http://127.0.0.1:${e.ports[0]}`;
    await e.run();
    return e;
  }

  async run() {
    const flags = ["dev", "--json", "--store", join(this.folder, "store"), "--port", `${this.ports[1]}`,
      "--http", `127.0.0.1:${this.ports[0]}`, "--script", script, "--workspace", this.folder];
    this.process = spawn(binary, flags, {env: this.env(), stdio: ["ignore", "pipe", "pipe"]});
    this.gone = new Promise((done) => this.process.once("exit", done));
    this.log = "";
    this.process.stderr.on("data", (b) => { this.log += b; });
    let out = "";
    await new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`everturn does not start: ${this.log}`)), patience);
      this.process.once("exit", (code) => fail(new Error(`everturn has ended with ${code}: ${this.log}`)));
      this.process.stdout.on("data", (b) => {
        out += b;
        if (out.includes("\n")) { clearTimeout(timer); done(); }
      });
    });
    this.said = JSON.parse(out.split("\n")[0]);
    await until("the gateway is ready", async () => (await fetch(`${this.url}/readyz`).catch(() => null))?.ok);
  }

  env() {
    const {PATH} = process.env;
    return {PATH, HOME: this.folder, XDG_CONFIG_HOME: this.folder, XDG_DATA_HOME: this.folder};
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.gone;
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.gone;
    await rm(this.folder, {recursive: true, force: true});
  }

  // cli runs a command and gives what it prints.
  async cli(...args) {
    const env = {...this.env(), NATS_URL: this.said.nats_url};
    const {stdout} = await promisify(execFile)(binary, args, {env, maxBuffer: 64 << 20});
    return stdout;
  }

  // gateway is another way in, which asks everybody for a token.
  async gateway() {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const process = spawn(binary, ["gateway", "--listen", `127.0.0.1:${port}`], {env: {...this.env(), NATS_URL: this.said.nats_url}, stdio: "ignore"});
    const gone = new Promise((done) => process.once("exit", done));
    await until("the gateway is ready", async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok);
    return {url, stop: async () => { process.kill("SIGTERM"); await gone; }};
  }

  // transcript is the chat as the command line gives it.
  async transcript(chat, ...flags) {
    return JSON.parse(await this.cli("transcript", chat, "--json", ...flags));
  }
}

// Network is a way to Everturn that can be lost. A browser that is told to be offline
// keeps the connections that it has, so this takes them away.
export class Network {
  static async to(everturn) {
    const n = new Network();
    n.pairs = new Set();
    n.there = true;
    n.server = createServer((near) => {
      if (!n.there) return near.destroy();
      const far = connect(everturn.ports[0], "127.0.0.1");
      const pair = [near, far];
      n.pairs.add(pair);
      for (const [a, b] of [pair, [far, near]]) {
        a.on("error", () => {});
        a.on("close", () => { n.pairs.delete(pair); b.destroy(); });
        a.on("data", (data) => { if (n.there) b.write(data); });
      }
    });
    await new Promise((done) => n.server.listen(0, "127.0.0.1", done));
    n.url = `http://127.0.0.1:${n.server.address().port}`;
    return n;
  }

  // drop ends every connection, and takes no other.
  drop() {
    this.there = false;
    for (const pair of this.pairs) pair[0].destroy();
  }

  // silence carries nothing any more, and tells nobody.
  silence() { this.there = false; }

  restore() { this.there = true; }

  stop() {
    this.drop();
    this.server.close();
  }
}

// until waits for a fact that no event tells.
export async function until(what, holds) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

// Browser is a Chromium of its own, with nobody's profile.
export class Browser {
  static async start() {
    const b = new Browser();
    b.profile = await mkdtemp(join(tmpdir(), "everturn-profile-"));
    b.chromium = await chromium.launch({
      executablePath: browserBinary, headless: true,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", `--crash-dumps-dir=${b.profile}`],
    });
    return b;
  }

  async stop() {
    await this.chromium.close();
    await rm(this.profile, {recursive: true, force: true});
  }

  // page opens a page that is watched: every request that leaves the gateway, and every
  // complaint, is a fault of the page.
  async page(everturn, options = {}) {
    const context = await this.chromium.newContext({viewport: {width: 1280, height: 900}, locale: "en-GB", timezoneId: "UTC", ...options});
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    const faults = [];
    page.on("request", (r) => {
      if (!r.url().startsWith(everturn.url) && !r.url().startsWith("data:") && !r.url().startsWith("blob:")) faults.push(`request to ${r.url()}`);
    });
    page.on("console", (m) => {
      if (["error", "warning"].includes(m.type())) faults.push(`console: ${m.text()}`);
    });
    page.on("pageerror", (e) => faults.push(`script: ${e.message}`));
    page.on("dialog", (d) => { faults.push(`dialog: ${d.message()}`); d.dismiss(); });
    page.faults = faults;
    return page;
  }
}
