"""Two tools and the process around them. Start as many as you like, in any language:

    pip install -r requirements.txt
    NATS_URL=nats://127.0.0.1:4222 NOTES=/tmp/notes python3 notes.py

NATS_USER and NATS_PASSWORD are those of the group's user, where each has its own.
"""

import asyncio
import json
import os
import pathlib
import signal

import nats
from runner import Runner

FOLDER = pathlib.Path(os.environ.get("NOTES", "notes"))
MANIFESTS = os.environ.get("MANIFESTS", pathlib.Path(__file__).parent.parent / "notes.json")
ACK_WAIT = int(os.environ.get("ACK_WAIT_MS", "15000")) / 1000  # of the queue; it is the orchestrators' to say


async def slowly(seconds, call):
    """Takes its time and says so. It is cancelled as soon as the call is not wanted any more."""
    while seconds > 0:
        await call.progress(f"{seconds} s left")
        await asyncio.sleep(min(seconds, 0.25))
        seconds -= 0.25


async def save_note(arguments, call):
    """Under the key of its call: if the call runs again, it writes the same file again."""
    await slowly(arguments.get("seconds", 0), call)
    name = FOLDER / f"{call.key}.txt"
    new = name.with_suffix(f".{os.getpid()}")
    new.write_text(arguments["text"])
    new.rename(name)
    return "The note is saved."


async def add_to_journal(arguments, call):
    """Every run adds a line: so it must run once, or it must be said that nobody knows."""
    with (FOLDER / "journal.txt").open("a") as journal:
        journal.write(f"{call.key} {json.dumps(arguments['text'])}\n")
    await slowly(arguments.get("seconds", 0), call)
    return "The line is in the journal."


async def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    manifests = json.loads(pathlib.Path(MANIFESTS).read_text())
    nc = await nats.connect(
        os.environ.get("NATS_URL", "nats://127.0.0.1:4222"), name="notes", max_reconnect_attempts=-1,
        user=os.environ.get("NATS_USER"), password=os.environ.get("NATS_PASSWORD"),
    )
    stopping = asyncio.Event()
    for s in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(s, stopping.set)
    tools = {"save_note": save_note, "add_to_journal": add_to_journal}
    await Runner(nc, "notes", manifests, tools, ack_wait=ACK_WAIT).run(stopping)
    await nc.drain()


asyncio.run(main())
