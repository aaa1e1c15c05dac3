// Two tools and the process around them. Start as many as you like, in any language:
//
//   NATS_URL=nats://127.0.0.1:4222 NOTES=/tmp/notes node notes.mjs
//
// NATS_USER and NATS_PASSWORD are those of the group's user, where each has its own.

import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "@nats-io/transport-node";
import { Runner } from "./runner.mjs";

const folder = process.env.NOTES ?? "notes";

// slowly takes its time, says so, and throws as soon as the call is not wanted any more.
async function slowly(seconds = 0, { signal, progress }) {
  for (let left = seconds; left > 0; left -= 0.25) {
    progress(`${left} s left`);
    await pause(Math.min(left, 0.25) * 1_000, null, { signal });
  }
}

const tools = {
  // Under the key of its call: if the call runs again, it writes the same file again.
  async save_note({ text, seconds }, call) {
    await slowly(seconds, call);
    const name = join(folder, `${call.key}.txt`);
    await writeFile(`${name}.${process.pid}`, text);
    await rename(`${name}.${process.pid}`, name);
    return "The note is saved.";
  },

  // Every run adds a line: so it must run once, or it must be said that nobody knows.
  async add_to_journal({ text, seconds }, call) {
    await appendFile(join(folder, "journal.txt"), `${call.key} ${JSON.stringify(text)}\n`);
    await slowly(seconds, call);
    return "The line is in the journal.";
  },
};

await mkdir(folder, { recursive: true });
const manifests = JSON.parse(await readFile(process.env.MANIFESTS ?? new URL("../notes.json", import.meta.url)));
const url = new URL(process.env.NATS_URL ?? "nats://127.0.0.1:4222");
const nc = await connect({
  name: "notes",
  servers: url.host,
  user: process.env.NATS_USER ?? (decodeURIComponent(url.username) || undefined),
  pass: process.env.NATS_PASSWORD ?? (decodeURIComponent(url.password) || undefined),
  maxReconnectAttempts: -1,
});
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stopping.abort());

const ackWaitMs = Number(process.env.ACK_WAIT_MS ?? 15_000); // of the queue; it is the orchestrators' to say
await new Runner(nc, { group: "notes", manifests, tools, ackWaitMs }).run(stopping.signal);
await nc.drain();
