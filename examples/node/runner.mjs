// What every runner of tools does, with nothing but a NATS client. docs/RUNNERS.md
// says why each step is as it is, and what each body means.

import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { createInbox, nuid } from "@nats-io/transport-node";

const pullMs = 3_000; // how long a pull waits at the server
const grantMs = 1_000; // no licence is good for longer, counted from the question
const askMs = 4_000; // between two questions whether a running call is still wanted
const letGoMs = 3_000; // for a tool to return after it was cancelled
const deadMs = 8_000; // before its deadline every claim for a call is "over"
const skewMs = 3_000; // by which clocks of machines may differ
const shownBytes = 32 << 10; // what a model reads of a result
const chunkBytes = 256 << 10; // of one upload

export class Runner {
  // tools has, by name, a function run(arguments, call) for each of the manifests. It gives
  // the result as a text, or throws. call has key, signal and progress(text).
  constructor(nc, { group, manifests, tools, concurrency = 8, ackWaitMs = 15_000, graceMs = 10_000 }) {
    Object.assign(this, { nc, group, manifests, tools, concurrency, ackWaitMs, graceMs });
    this.process = `${group}.node-${nuid.next()}`; // of no other process, ever
    this.calls = new Set(); // claimed, and their results not answered yet
    this.running = new Set(); // promises of deliveries in hand
    this.reconnects = 0;
  }

  // run serves calls until the signal is aborted, and ends when nothing is in hand.
  async run(signal) {
    const heard = [
      this.hear("everturn.stop.*.*", (m) => this.stop(m)),
      this.hear(`everturn.runner.${this.process}`, (m) => m.respond(JSON.stringify({ running: this.isRunning(m.json()) }))),
    ];
    this.countReconnects();
    await this.offer(signal);
    while (!signal.aborted) {
      if (this.running.size >= this.concurrency) await Promise.race(this.running);
      else await this.pull(this.concurrency - this.running.size, signal);
    }
    const idle = Promise.all(this.running);
    await Promise.race([idle, pause(this.graceMs)]);
    for (const call of this.calls) call.abort.abort("the runner is stopping");
    await idle;
    for (const sub of heard) sub.unsubscribe();
  }

  hear(subject, on) {
    return this.nc.subscribe(subject, { callback: (err, m) => err || on(m) });
  }

  async countReconnects() {
    for await (const s of this.nc.status()) if (s.type === "reconnect") this.reconnects++;
  }

  async ask(subject, body, timeout) {
    const answer = await this.nc.request(subject, JSON.stringify(body), { timeout });
    return answer.json();
  }

  // offer says which tools there are, until somebody has taken them, and from then on once
  // a minute. The answer names the digest of each manifest.
  async offer(signal) {
    for (let wait = 50; !signal.aborted; wait = Math.min(2 * wait, 15_000)) {
      try {
        const body = { v: 1, group: this.group, runner: this.process, manifests: this.manifests };
        const { refused, digests } = await this.ask(`everturn.offer.${this.group}`, body, 5_000);
        refused.forEach((why, i) => why && console.error(`${this.manifests[i]?.name} was refused: ${why}`));
        this.digests = new Map(this.manifests.map((m, i) => [m.name, digests?.[i]]));
        pause(60_000, null, { signal, ref: false }).then(() => this.offer(signal), () => {});
        return;
      } catch (err) {
        if (wait > 1_000) console.error(`nobody takes the offer of tools: ${err.message}`);
        await pause(wait, null, { signal }).catch(() => {});
      }
    }
  }

  // pull asks for at most limit calls and begins each as it comes. It asks for no more than
  // can be begun at once, and keeps listening until the server has ended the pull.
  async pull(limit, signal) {
    const inbox = createInbox();
    const sub = this.nc.subscribe(inbox);
    const late = setTimeout(() => sub.unsubscribe(), pullMs + 1_000); // it went with the connection
    const body = { batch: limit, expires: pullMs * 1_000_000 };
    this.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.WORK.tool-${this.group}`, JSON.stringify(body), { reply: inbox });
    for await (const m of sub) {
      if (m.headers?.code) { // no call: the pull has ended, 503 if the queue is not there
        if (m.headers.code !== 408) await pause(200);
        break;
      }
      if (signal.aborted) m.respond("-NAK");
      else {
        const handled = this.handle(m).finally(() => this.running.delete(handled));
        this.running.add(handled);
      }
      if (--limit === 0) break;
    }
    clearTimeout(late);
    sub.unsubscribe();
  }

  // handle settles one delivery, and tells the queue that it is in hand until then.
  async handle(delivery) {
    const { reconnects } = this;
    const alive = setInterval(() => delivery.respond("+WPI"), this.ackWaitMs / 5);
    let away;
    try {
      away = await this.serve(delivery);
    } catch (err) {
      console.error(`${delivery.subject}: ${err.message}`);
      away = 5_000;
    }
    clearInterval(alive);
    if (reconnects !== this.reconnects) return; // its number may be another call's by now: let it come again
    delivery.respond(away === undefined ? "+ACK" : `-NAK {"delay":${away * 1_000_000}}`);
  }

  // serve does all that a call needs. It gives the milliseconds before the queue shall
  // hand it out again, or nothing if it is done.
  async serve(delivery) {
    const work = delivery.json();
    const { tenant, chat, call: id, rev } = work;
    const count = countOf(delivery);
    const tool = this.tools[work.tool];
    const manifest = this.manifests.find((m) => m.name === work.tool);
    if (work.v !== 1 || !tool || this.digests.get(work.tool) !== work.manifest) {
      if (Date.now() > Date.parse(work.deadline) + 60_000) return undefined; // nobody waits for it any more
      return Math.min(count, 15) * 1_000; // another runner of the group may have it
    }
    const args = work.blob ? JSON.parse(await this.download(work)) : (work.arguments ?? {});
    const claim = { v: 1, call: id, rev, claim: nuid.next(), delivery: count, runner: this.process };
    const call = { tenant, chat, id, turn: Number(id.split(".")[0]), claim: claim.claim, abort: new AbortController() };
    this.calls.add(call);
    try {
      for (;;) {
        const licence = await this.claim(work, claim);
        if (licence.answer === "over") return undefined;
        if (licence.answer !== "granted") return licence.retry_ms || 2_000;
        if (performance.now() >= licence.until) continue; // it has died: ask again
        const end = await this.execute(work, claim, call, tool, args); // begins at once
        const stopping = call.abort.signal.reason === "the runner is stopping";
        if (manifest.idempotent && stopping && !end.ended) return 0; // somebody else runs it again
        await this.report(work, { ...(await this.shape(work, judge(manifest, end))), timing: { ran_ms: end.ranMs } });
        return undefined;
      }
    } finally {
      this.calls.delete(call);
    }
  }

  // claim asks for the licence to run a call until there is an answer.
  async claim(work, claim) {
    const from = performance.now();
    for (let wait = 100; performance.now() < from + 30_000; wait = Math.min(2 * wait, 1_000)) {
      const sent = performance.now();
      try {
        const answer = await this.ask(`everturn.claim.${work.tenant}.${work.chat}`, claim, grantMs + 200);
        return { ...answer, until: sent + Math.min(answer.grant_ms || grantMs, grantMs) };
      } catch {
        await pause(wait);
      }
    }
    return { answer: "busy", retry_ms: 5_000 };
  }

  // execute runs the tool, and returns when it has ended or has been left behind.
  async execute(work, claim, call, tool, args) {
    const { signal } = call.abort;
    if (signal.aborted) return { why: signal.reason, ranMs: 0 };
    const began = performance.now();
    const timeout = setTimeout(() => call.abort.abort("the tool's time is over"), work.timeout_ms || 120_000);
    const cancelled = new Promise((leave) => {
      signal.addEventListener("abort", () => setTimeout(leave, letGoMs, { error: "the tool did not stop when told to" }).unref());
    });
    const watching = setInterval(() => this.stillWanted(work, claim, call), askMs);
    const progress = this.progress(work, signal);
    const ended = (async () => tool(args, { key: work.key, signal, progress }))().then(
      (text) => ({ ended: true, text: String(text ?? "") }), // whatever it gives: the effect has happened
      (err) => ({ error: String(err?.message ?? err) }),
    );
    const end = await Promise.race([ended, cancelled]);
    clearTimeout(timeout);
    clearInterval(watching);
    return { ...end, begun: true, why: signal.aborted ? signal.reason : undefined, ranMs: Math.round(performance.now() - began) };
  }

  // stillWanted asks whether a running call is, for the message that stops it may be lost.
  async stillWanted(work, claim, call) {
    if (Date.now() + skewMs > Date.parse(work.deadline) - deadMs) return;
    const { answer } = await this.ask(`everturn.claim.${work.tenant}.${work.chat}`, claim, grantMs + 200).catch(() => ({}));
    if (answer === "over") call.abort.abort("the call is not wanted any more");
  }

  stop(m) {
    const [, , tenant, chat] = m.subject.split(".");
    const stop = m.json();
    if (stop.step && !stop.call) return; // that means a model
    for (const call of this.calls) {
      if (call.tenant !== tenant || call.chat !== chat) continue;
      if (stop.call ? call.id === stop.call : call.turn === stop.turn) call.abort.abort("the call is not wanted any more");
    }
  }

  isRunning(q) {
    return [...this.calls].some((c) => c.tenant === q.tenant && c.chat === q.chat && c.id === q.call && c.claim === q.claim);
  }

  progress(work, signal) {
    let i = 0;
    let last = -Infinity;
    return (text) => {
      const n = i++;
      if (signal.aborted || performance.now() < last + 50) return; // too fast: the gap in the numbers shows it
      last = performance.now();
      this.nc.publish(`everturn.feed.${work.tenant}.${work.chat}.progress`, JSON.stringify({ call: work.call, i: n, text }));
    };
  }

  // shape makes a result of what there is to say: the model reads 32 KiB, and the whole is kept.
  async shape(work, { status, text }) {
    const result = { v: 1, call: work.call, rev: work.rev, runner: this.process, status, is_error: status !== "ok", parts: [] };
    const whole = Buffer.from(text.toWellFormed?.() ?? text);
    if (whole.length === 0) return result;
    if (whole.length > shownBytes) {
      result.truncated = true;
      result.blob = await this.upload(work, whole).catch((err) => void console.error(`${work.call}: ${err.message}`));
      const room = shownBytes - 256;
      text = `${whole.subarray(0, (room * 2) / 3)}\n… ${whole.length} bytes in all …\n${whole.subarray(whole.length - room / 3)}`;
    }
    result.parts.push({ type: "text", text });
    return result;
  }

  // report sends the result until it has been taken.
  async report(work, result) {
    for (let wait = 100; ; wait = Math.min(2 * wait, 5_000)) {
      const { answer } = await this.ask(`everturn.result.${work.tenant}.${work.chat}`, result, 5_000).catch(() => ({}));
      if (answer === "committed" || answer === "dropped") return;
      await pause(wait);
    }
  }

  // upload keeps content of a chat under its digest, in pieces that are joined.
  async upload(work, content) {
    const put = async (body) => {
      const { error } = await this.ask(`everturn.upload.${work.tenant}.${work.chat}`, { v: 1, ...body }, 10_000);
      if (error) throw new Error(`upload: ${error}`);
      return body.blob;
    };
    const chunks = [];
    for (let at = 0; at < content.length; at += chunkBytes) {
      const piece = content.subarray(at, at + chunkBytes);
      chunks.push(await put({ data: piece.toString("base64"), blob: digestOf(piece) }));
    }
    return chunks.length === 1 ? chunks[0] : put({ chunks, blob: digestOf(content) });
  }

  async download(work) {
    let content = Buffer.alloc(0);
    for (;;) {
      const body = { v: 1, blob: work.blob, offset: content.length };
      const { data, bytes, error } = await this.ask(`everturn.download.${work.tenant}.${work.chat}`, body, 10_000);
      if (error) throw new Error(`download: ${error}`);
      content = Buffer.concat([content, Buffer.from(data ?? "", "base64")]);
      if (content.length < bytes && data) continue;
      if (digestOf(content) !== work.blob) throw new Error("download: the content is damaged");
      return content;
    }
  }
}

// countOf is how often the queue has delivered a message, this time included:
// $JS.ACK.<stream>.<consumer>.<count>…, or with a domain $JS.ACK.<domain>.<account>.<stream> ….
function countOf({ reply }) {
  const tokens = reply.split(".");
  return Number(tokens.length < 12 ? tokens[4] : tokens[6]);
}

const digestOf = (bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

// judge says what it means that a call ended so. Cut short is unknown, unless nothing can
// have happened.
function judge(manifest, { begun, ended, text = "", error, why }) {
  if (ended) return { status: "ok", text };
  if (!why) return { status: "error", text: error };
  if (!begun && (manifest.read_only || !manifest.idempotent)) return { status: "cancelled", text: `not started: ${why}` };
  if (!begun) return { status: "unknown", text: `not started here, outcome unknown: ${why}` };
  if (manifest.read_only) return { status: why.includes("time") ? "timeout" : "cancelled", text: `stopped: ${why}` };
  return { status: "unknown", text: `started, outcome unknown: ${why}` };
}
