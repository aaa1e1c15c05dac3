"""What every runner of tools does, with nothing but a NATS client.

docs/RUNNERS.md says why each step is as it is, and what each body means.
"""

import asyncio
import base64
import hashlib
import json
import sys
import time
import uuid
from datetime import datetime, timezone

PULL = 3.0  # seconds a pull waits at the server
GRANT = 1.0  # no licence is good for longer, counted from the question
ASK_EVERY = 4.0  # whether a running call is still wanted
LET_GO = 3.0  # for a tool to return after it was cancelled
DEAD = 8.0  # before its deadline every claim for a call is "over"
SKEW = 3.0  # by which clocks of machines may differ
SHOWN = 32 << 10  # bytes that a model reads of a result
CHUNK = 256 << 10  # bytes of one upload

NOT_WANTED = "the call is not wanted any more"
STOPPING = "the runner is stopping"
TIME_OVER = "the tool's time is over"


class Call:
    """One call: what a tool gets to know of it, and who may cancel it."""

    def __init__(self, work, claim):
        self.work, self.claim = work, claim
        self.key = work["key"]  # the same whenever this call runs again
        self.task = None  # of the tool, while it runs
        self.why = None  # it was cancelled
        self.cancelled = asyncio.Event()

    def cancel(self, why):
        self.why = self.why or why
        self.cancelled.set()
        if self.task:
            self.task.cancel()


class Runner:
    """Serves the calls of a group.

    tools has, by name, a coroutine function run(arguments, call) for each of the manifests.
    It returns the result as a text, or raises.
    """

    def __init__(self, nc, group, manifests, tools, concurrency=8, ack_wait=15.0, grace=10.0):
        self.nc, self.group, self.tools = nc, group, tools
        self.manifests = {m["name"]: m for m in manifests}
        self.concurrency, self.ack_wait, self.grace = concurrency, ack_wait, grace
        self.process = f"{group}.python-{uuid.uuid4().hex}"  # of no other process, ever
        self.digests = {}
        self.calls = set()  # claimed, and their results not answered yet
        self.running = set()  # tasks of deliveries in hand

    async def run(self, stopping):
        """Serves calls until the event is set, and ends when nothing is in hand."""
        await self.nc.subscribe("everturn.stop.*.*", cb=self.on_stop)
        await self.nc.subscribe(f"everturn.runner.{self.process}", cb=self.on_question)
        offers = asyncio.create_task(self.offer())
        while not stopping.is_set():
            if not self.digests:
                await asyncio.sleep(0.05)
            elif len(self.running) >= self.concurrency:
                await asyncio.wait(self.running, timeout=PULL, return_when=asyncio.FIRST_COMPLETED)
            else:
                await self.pull(self.concurrency - len(self.running), stopping)
        offers.cancel()
        if self.running:
            await asyncio.wait(self.running, timeout=self.grace)
        for call in self.calls:
            call.cancel(STOPPING)
        await asyncio.gather(*self.running)

    async def ask(self, subject, body, timeout):
        answer = await self.nc.request(subject, json.dumps(body).encode(), timeout=timeout)
        return json.loads(answer.data)

    async def offer(self):
        """Says which tools there are, again and again. The answer names their digests."""
        body = {"v": 1, "group": self.group, "runner": self.process, "manifests": list(self.manifests.values())}
        wait = 0.05
        while True:
            try:
                answer = await self.ask(f"everturn.offer.{self.group}", body, 5)
                for name, why in zip(self.manifests, answer["refused"]):
                    if why:
                        print(f"{name} was refused: {why}", file=sys.stderr)
                self.digests = dict(zip(self.manifests, answer.get("digests", [])))
                wait = 60
            except Exception as err:  # nobody is there, or no answer came in time
                wait = 0.05 if wait == 60 else min(2 * wait, 15)
                if wait > 1:
                    print(f"nobody takes the offer of tools: {err}", file=sys.stderr)
            await asyncio.sleep(wait)

    async def pull(self, limit, stopping):
        """Asks for at most limit calls and begins each as it comes.

        It asks for no more than can be begun at once, and listens until the server has
        ended the pull.
        """
        inbox = self.nc.new_inbox()
        sub = await self.nc.subscribe(inbox)
        body = {"batch": limit, "expires": int(PULL * 1e9)}
        await self.nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.WORK.tool-{self.group}", json.dumps(body).encode(), reply=inbox)
        while limit > 0:
            try:
                m = await sub.next_msg(timeout=PULL + 1)
            except Exception:  # the pull went with the connection
                break
            if m.headers and "Status" in m.headers:  # no call: the pull has ended, 503 if the queue is not there
                if m.headers["Status"] != "408":
                    await asyncio.sleep(0.2)
                break
            limit -= 1
            if stopping.is_set():
                await m.respond(b"-NAK")
                continue
            task = asyncio.create_task(self.handle(m))
            self.running.add(task)
            task.add_done_callback(self.running.discard)
        await sub.unsubscribe()

    async def handle(self, m):
        """Settles one delivery, and tells the queue that it is in hand until then."""
        reconnects = self.nc.stats["reconnects"]
        alive = asyncio.create_task(self.speak_up(m))
        try:
            away = await self.serve(m)
        except Exception as err:
            print(f"{m.subject}: {err}", file=sys.stderr)
            away = 5.0
        alive.cancel()
        if reconnects != self.nc.stats["reconnects"]:
            return  # its number may be another call's by now: let it come again
        await m.respond(b"+ACK" if away is None else b'-NAK {"delay":%d}' % int(away * 1e9))

    async def speak_up(self, m):
        while True:
            await asyncio.sleep(self.ack_wait / 5)
            await m.respond(b"+WPI")

    async def serve(self, m):
        """Does all that a call needs. Gives the seconds before the queue shall hand it out
        again, or None if it is done."""
        work = json.loads(m.data)
        count = m.metadata.num_delivered
        tool, manifest = self.tools.get(work["tool"]), self.manifests.get(work["tool"])
        if work["v"] != 1 or tool is None or self.digests.get(work["tool"]) != work["manifest"]:
            if left(work) < -60:
                return None  # nobody waits for it any more
            return float(min(count, 15))  # another runner of the group may have it
        arguments = json.loads(await self.download(work)) if work.get("blob") else work.get("arguments") or {}
        claim = {
            "v": 1, "call": work["call"], "rev": work["rev"], "claim": uuid.uuid4().hex,
            "delivery": count, "runner": self.process,
        }
        call = Call(work, claim["claim"])
        call.progress = self.progress(call)
        self.calls.add(call)
        try:
            while True:
                licence, until = await self.claim(work, claim)
                if licence["answer"] == "over":
                    return None
                if licence["answer"] != "granted":
                    return licence.get("retry_ms", 2000) / 1000
                if time.monotonic() >= until:
                    continue  # it has died: ask again
                status, text, ran, ended = await self.execute(claim, call, manifest, tool, arguments, until)
                if status is None:
                    continue  # it died before the tool began
                if manifest.get("idempotent") and call.why == STOPPING and not ended:
                    return 0.0  # somebody else runs it again
                result = await self.shape(work, status, text)
                await self.report(work, {**result, "timing": {"ran_ms": int(ran * 1000)}})
                return None
        finally:
            self.calls.discard(call)

    async def claim(self, work, claim):
        """Asks for the licence to run a call until there is an answer."""
        start, wait = time.monotonic(), 0.1
        while time.monotonic() < start + 30:
            sent = time.monotonic()
            try:
                answer = await self.ask(subject_of("claim", work), claim, GRANT + 0.2)
                return answer, sent + min(answer.get("grant_ms", GRANT * 1000) / 1000, GRANT)
            except Exception:  # the licence may have been given and lost: the same claim gets it again
                await asyncio.sleep(wait)
                wait = min(2 * wait, 1)
        return {"answer": "busy", "retry_ms": 5000}, 0

    async def execute(self, claim, call, manifest, tool, arguments, until):
        """Runs the tool. Returns when it has ended or was left behind, with status, text,
        seconds, and whether it ended by itself."""
        if call.why:
            return *judge(manifest, call.why, begun=False), 0.0, False

        async def begin():
            if time.monotonic() >= until:  # in the last moment
                return None, None
            return "ok", await tool(arguments, call)

        began = time.monotonic()
        call.task = asyncio.create_task(begin())
        watching = asyncio.create_task(self.watch(claim, call))
        cancelled = asyncio.create_task(call.cancelled.wait())
        seconds = call.work.get("timeout_ms", 120_000) / 1000
        await asyncio.wait({call.task, cancelled}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not call.task.done() and not call.why:
            call.cancel(TIME_OVER)
        await asyncio.wait({call.task}, timeout=LET_GO)  # then it is left behind
        watching.cancel()
        cancelled.cancel()
        ran = time.monotonic() - began
        if call.task.done() and not call.task.cancelled() and not call.task.exception():
            status, text = call.task.result()
            if status == "ok":  # whatever it gives: the effect has happened
                text = "" if text is None else str(text)
            return status, text, ran, True
        if call.why:
            return *judge(manifest, call.why, begun=True), ran, False
        return "error", str(call.task.exception()), ran, False

    async def watch(self, claim, call):
        """Asks whether a running call is still wanted: the message that stops it may be lost."""
        while left(call.work) > DEAD + SKEW:
            await asyncio.sleep(ASK_EVERY)
            try:
                answer = await self.ask(subject_of("claim", call.work), claim, GRANT + 0.2)
            except Exception:
                continue
            if answer["answer"] == "over":
                call.cancel(NOT_WANTED)

    async def on_stop(self, m):
        _, _, tenant, chat = m.subject.split(".")
        stop = json.loads(m.data)
        if stop.get("step") and not stop.get("call"):
            return  # that means a model
        for call in self.calls:
            work = call.work
            if (work["tenant"], work["chat"]) != (tenant, chat):
                continue
            if work["call"] == stop["call"] if stop.get("call") else work["call"].split(".")[0] == str(stop["turn"]):
                call.cancel(NOT_WANTED)

    async def on_question(self, m):
        q = json.loads(m.data)
        asked = (q["tenant"], q["chat"], q["call"], q["claim"])
        ours = {(c.work["tenant"], c.work["chat"], c.work["call"], c.claim) for c in self.calls}
        await m.respond(json.dumps({"running": asked in ours}).encode())

    def progress(self, call):
        number, last = 0, float("-inf")

        async def say(text):
            nonlocal number, last
            n, number = number, number + 1
            if call.why or time.monotonic() < last + 0.05:
                return  # too fast: the gap in the numbers shows it
            last = time.monotonic()
            body = {"call": call.work["call"], "i": n, "text": text}
            await self.nc.publish(f"everturn.feed.{call.work['tenant']}.{call.work['chat']}.progress", json.dumps(body).encode())

        return say

    async def shape(self, work, status, text):
        """Makes a result: the model reads 32 KiB, and the whole is kept."""
        result = {
            "v": 1, "call": work["call"], "rev": work["rev"], "runner": self.process,
            "status": status, "is_error": status != "ok", "parts": [],
        }
        whole = text.encode("utf-8", "replace")
        if len(whole) > SHOWN:
            result["truncated"] = True
            try:
                result["blob"] = await self.upload(work, whole)
            except Exception as err:
                print(f"{work['call']}: {err}", file=sys.stderr)
            room = SHOWN - 256
            first, last = whole[: room * 2 // 3], whole[-(room // 3) :]
            text = f"{first.decode(errors='ignore')}\n… {len(whole)} bytes in all …\n{last.decode(errors='ignore')}"
        if text:
            result["parts"].append({"type": "text", "text": text})
        return result

    async def report(self, work, result):
        """Sends the result until it has been taken."""
        wait = 0.1
        while True:
            try:
                answer = await self.ask(subject_of("result", work), result, 5)
                if answer["answer"] in ("committed", "dropped"):
                    return
            except Exception:  # no answer came: it may have been taken, and is told so the next time
                pass
            await asyncio.sleep(wait)
            wait = min(2 * wait, 5)

    async def upload(self, work, content):
        """Keeps content of a chat under its digest, in pieces that are joined."""

        async def put(**body):
            answer = await self.ask(subject_of("upload", work), {"v": 1, **body}, 10)
            if answer.get("error"):
                raise RuntimeError(f"upload: {answer['error']}")
            return body["blob"]

        pieces = [content[at : at + CHUNK] for at in range(0, len(content), CHUNK)]
        chunks = [await put(data=base64.b64encode(p).decode(), blob=digest_of(p)) for p in pieces]
        return chunks[0] if len(chunks) == 1 else await put(chunks=chunks, blob=digest_of(content))

    async def download(self, work):
        content = b""
        while True:
            body = {"v": 1, "blob": work["blob"], "offset": len(content)}
            answer = await self.ask(subject_of("download", work), body, 10)
            if answer.get("error"):
                raise RuntimeError(f"download: {answer['error']}")
            content += base64.b64decode(answer.get("data", ""))
            if len(content) < answer["bytes"] and answer.get("data"):
                continue
            if digest_of(content) != work["blob"]:
                raise RuntimeError("download: the content is damaged")
            return content


def subject_of(what, work):
    return f"everturn.{what}.{work['tenant']}.{work['chat']}"


def digest_of(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def left(work):
    """Seconds until the call's deadline."""
    deadline = datetime.fromisoformat(work["deadline"].replace("Z", "+00:00"))
    return (deadline - datetime.now(timezone.utc)).total_seconds()


def judge(manifest, why, begun):
    """What it means that a call was cut short: unknown, unless nothing can have happened."""
    read_only, idempotent = manifest.get("read_only"), manifest.get("idempotent")
    if not begun and (read_only or not idempotent):
        return "cancelled", f"not started: {why}"
    if not begun:
        return "unknown", f"not started here, outcome unknown: {why}"
    if read_only:
        return "timeout" if why == TIME_OVER else "cancelled", f"stopped: {why}"
    return "unknown", f"started, outcome unknown: {why}"
