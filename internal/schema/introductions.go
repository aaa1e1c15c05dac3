package main

// What stands above the generated parts of the pages.

const eventsIntroduction = `# Events

A chat is its log: a list of commits, each with the events of one decision. Nothing else is stored about it that could not be
made again from there. This page describes everything that can stand in a log.

A commit is one message on ` + "`everturn.log.<shard>.<tenant>.<chat>`" + `:

` + "```json" + `
{
  "v": 1,
  "id": "01KB6Q3Z8V0000000000000004",
  "tenant": "acme",
  "chat": "01KB6Q3Z8V0000000000000000",
  "rev": 17,
  "prev": "1618d5c03ed529eb72226ed8ccc7adc23e3fefe2c5f1b3d762509526003b5861",
  "at": "2026-11-29T12:00:00.123Z",
  "cause": {"kind": "command", "id": "01KB6Q3Z8V0000000000000001", "verb": "send", "by": "user:ann", "sequence": 123},
  "events": [{"type": "input.accepted.v1", "data": {}}, {"type": "turn.started.v1", "data": {}}]
}
` + "```" + `

Schema: [` + "`commit.v1.json`" + `](schema/commit.v1.json). What readers may rely on:

- ` + "`rev`" + ` counts a chat's commits from 1 without gaps. ` + "`prev`" + ` is the SHA-256 of the bytes of the commit before: whoever alters
  a log breaks the chain.
- The events of a commit became true together and in their order.
- ` + "`cause`" + ` names the one message that the commit answers.
- ` + "`at`" + ` is the committer's clock, never before the commit before. Decisions do not read it.
- The header ` + "`Everturn-Types`" + ` lists the types of the events, ` + "`Everturn-Owes`" + ` what the chat still has to cause outside
  (` + "`model`, `tool`, `timer`, `chat`" + `); both are for filters. Only the body decides.
- A wire name keeps its meaning for ever. A field may be added, so ignore what you do not know. A change in meaning gets a new
  version: ` + "`tool.completed.v2`" + `. A type you do not know means that you are older than its writer: stop, do not guess.

Times are RFC 3339 in UTC with milliseconds. Durations are in milliseconds, money in millionths. Ids inside a chat can be read:
turn ` + "`3`" + `, its second step ` + "`3.2`" + `, the first call of that step ` + "`3.2.1`" + `. A digest is ` + "`sha256:`" + ` and 64 hex digits.
`

const commandsIntroduction = `# Commands

A command is what somebody wants from a chat: one message on ` + "`everturn.cmd.<tenant>.<chat>.<verb>`" + `. It is stored, decided once,
and its outcome never changes. The order in which a chat's commands were stored is the order of their effects, however many
orchestrators there are.

A tenant is 1 to 64 of ` + "`a-z 0-9 _ -`" + `, a chat 1 to 64 of ` + "`A-Z a-z 0-9 _ -`" + `: a ULID, a UUID, or a name of your own.

## With the nats command line

` + "```sh" + `
export CHAT=my-first-chat
nats sub "everturn.reply.default.>" &        # outcomes
nats sub "everturn.feed.default.$CHAT.>" &   # commits, deltas and progress, live

nats req everturn.cmd.default.$CHAT.create '{"v":1}'
nats req everturn.cmd.default.$CHAT.send '{"v":1,"parts":[{"type":"text","text":"What time is it?"}]}'
` + "```" + `

` + "`nats req`" + ` prints the stream's receipt: the command is stored. The outcome comes on the reply subject; subscribe before you send.

## Reading

` + "```sh" + `
nats req everturn.query.default.transcript '{"chat":"my-first-chat"}'
nats req everturn.query.default.chat '{"chat":"my-first-chat"}'
nats req everturn.query.default.command '{"chat":"my-first-chat","id":"01KB6Q3Z8V0000000000000001"}'
nats req everturn.query.default.commits '{"chat":"my-first-chat","after":1}'
nats req everturn.query.default.state '{"chat":"my-first-chat","rev":2}'
nats req everturn.query.default.prompt '{"chat":"my-first-chat"}'
nats req everturn.query.default.verify '{"chat":"my-first-chat"}'
nats req everturn.query.default.upload '{"v":1,"chat":"my-first-chat","data":"SGVsbG8="}'
nats service list                            # who answers queries
` + "```" + `

| query | answers | may also hold |
|---|---|---|
| ` + "`transcript`" + ` | a page of the chat as people read it | ` + "`at`" + `: a rev, or a time, to see the chat as it was; ` + "`after` and `limit`" + ` for pages; ` + "`branch`" + `: a turn, to see another branch than the selected one up to there |
| ` + "`chat`" + ` | its head: status, newest turn, counts | |
| ` + "`command`" + ` | what was decided about a command | |
| ` + "`branches`" + ` | the branches of a chat, by their last turns | |
| ` + "`commits`" + ` | the commits as they are stored, byte for byte, and ` + "`rev`" + `, the newest | ` + "`after`" + `: a rev, to read on behind it; ` + "`through`" + `: the last rev; ` + "`limit`" + `. Where ` + "`next`" + ` stands in the answer there is more: it is the ` + "`after`" + ` of the next page |
| ` + "`state`" + ` | what decisions are made from, folded from the log, in the form of this release | ` + "`rev`" + `, to see it as it was |
| ` + "`prompt`" + ` | what the model was shown for the newest step | ` + "`rev`" + `: for the newest up to there; ` + "`step` and `attempt`" + `: for that one; ` + "`full`" + `: content in the place of digests |
| ` + "`verify`" + ` | which rules the log breaks, and where | |
| ` + "`upload`" + ` | ` + "`blob`" + `: the digest of what is stored now | ` + "`data`" + ` in base64, at most 256 KiB; of something larger the digests of its pieces in ` + "`chunks`" + `, in order, and that of the whole in ` + "`blob`" + ` |
| ` + "`download`" + ` | ` + "`data`" + ` from an offset on, and ` + "`bytes`" + `, the size of the whole | ` + "`blob`, `offset`" + ` |

Of all chats of the tenant, where projections keep a store ([PROJECTIONS.md](PROJECTIONS.md)); elsewhere they say ` + "`unavailable`" + `:

| query | answers | may also hold |
|---|---|---|
| ` + "`chats`" + ` | a line for each chat, the one that changed last first | ` + "`after`" + `, ` + "`before`" + `: the ` + "`next`" + ` and ` + "`previous`" + ` of an answer; ` + "`limit`" + `; ` + "`owner`" + `, ` + "`status`" + `, ` + "`agent`" + `; ` + "`archived`" + `: ` + "`only`" + ` or ` + "`too`" + `; ` + "`parent`" + `, ` + "`children`" + `; ` + "`chat`" + ` and ` + "`min_rev`" + ` |
| ` + "`search`" + ` | where the words of ` + "`text`" + ` were said, or stand in a title, with what is around them | ` + "`after`" + `, ` + "`before`" + `, ` + "`limit`" + `; ` + "`chat`" + `, ` + "`owner`" + `; ` + "`kind`" + `: ` + "`user`" + `, ` + "`assistant`" + ` or ` + "`title`" + ` |
| ` + "`usage`" + ` | attempts, tokens and cost | ` + "`by`" + `: ` + "`day`" + `, ` + "`model`" + `, ` + "`agent`" + ` or ` + "`chat`" + `; ` + "`from`" + `, ` + "`to`" + `: days as ` + "`2026-11-30`" + `; ` + "`chat`" + `, ` + "`model`" + `, ` + "`agent`" + `; ` + "`after`" + `, ` + "`limit`" + ` |
| ` + "`open`" + ` | what waits for somebody, what waits longest first | ` + "`kinds`" + `: of ` + "`approval`" + `, ` + "`question`" + `, ` + "`client`" + `, ` + "`budget`" + `, ` + "`failure`" + `; ` + "`chat`" + `, ` + "`owner`" + `; ` + "`after`" + `, ` + "`limit`" + ` |

` + "`min_rev`" + ` in the first two waits for that commit, for two seconds at most: name the rev of a reply to read what you
wrote. ` + "`state`, `prompt` and `verify`" + ` read the log from its start: a chat of more than 20,000 commits or 64 MiB is refused with
` + "`too_large`" + `, and an answer that would be larger than 768 KiB is cut and says in ` + "`cut`" + ` what was;
` + "`verify`" + ` leaves out what takes too long of more than 1,000 commits, and names the rules in ` + "`skipped`" + `. Errors come in the headers ` + "`Nats-Service-Error` and `Nats-Service-Error-Code`" + `, with the codes and statuses below.

## Images and files

Upload the content to the chat, then name it in the ` + "`parts`" + ` of a ` + "`send`" + `:

` + "```json" + `
{"v":1,"parts":[
  {"type":"text","text":"What is this?"},
  {"type":"image","media_type":"image/png","name":"boat.png","bytes":48213,"blob":"sha256:…"},
  {"type":"file","media_type":"application/pdf","name":"plan.pdf","bytes":90112,"blob":"sha256:…"}]}
` + "```" + `

An ` + "`image`" + ` is PNG, JPEG, GIF or WebP, at most 10 MiB and 8000 pixels a side, and is shown to models that see; a ` + "`file`" + ` is anything, at
most 16 MiB, and the model is told of it. An input may have 32 MiB, a chat 128 of them. What was not uploaded to this chat, has
another size or type than is said, or is no image is refused with ` + "`bad_command`" + ` and the reason, before the model is asked.

## Headers

| header | meaning |
|---|---|
| ` + "`Everturn-Id`" + ` | Id of the command, a ULID in upper case. Optional; without it one is derived from the stored time and sequence. Sending a command again with the same id is safe at any time: the chat decides it once, whatever it says the second time. While it is among the chat's last 256 it is answered again, with the first outcome; later the query ` + "`command`" + ` has that. What was refused without a record in the log (the chat did not exist, the body was malformed) was not decided, and is when it comes again. Also the id of the input that ` + "`send`" + ` brings. |
| ` + "`Everturn-By`" + ` | The sender's name for itself. It stands in the log as claimed; on a bare bus nobody has checked it. |
| ` + "`traceparent`" + ` | W3C trace context of the sender, carried along; the trace of the turn links to it. |

` + "```sh" + `
nats req -H Everturn-Id:01KB6Q3Z8V0000000000000001 -H Everturn-By:user:ann \
  everturn.cmd.default.$CHAT.rename '{"v":1,"title":"Trip to Oslo"}'
` + "```" + `

A body is at most 512 KiB. A field that a verb does not know is refused, so that a misspelt one does not go unnoticed; write the
names in lower case as they stand here.
`

const runnersIntroduction = `## For tool runners, workers and watchers

A tool runner pulls work of its group, claims each call before the effect, runs the tool, and repeats its report
until it hears ` + "`committed` or `dropped`" + `; then it acknowledges the work. It offers its tools when it starts. Claims, results,
offers, uploads and downloads are requests; each needs a reply subject of its own below ` + "`_INBOX`" + `. In all of these bodies a field
that the reader does not know is ignored.

1. Start the effect within ` + "`grant_ms`" + ` of having *sent* the claim, by your own steady clock; else claim again.
2. ` + "`over`" + `: acknowledge the work and forget it. ` + "`busy`" + `: give it back for ` + "`retry_ms`" + `.
3. While the call runs, signal progress to the queue more often than its ack wait.
4. On a stop message for the call, its step or its turn: end it, and report: ` + "`cancelled`" + ` when nothing can have
   happened outside, ` + "`unknown`" + ` otherwise.
5. An idempotent tool gets the same ` + "`key`" + ` at each delivery of one call, for ever.
`

const metricsIntroduction = `# Metrics

Every part counts what it does and what went wrong, with OpenTelemetry. ` + "`--metrics HOST:PORT`" + ` serves the numbers to Prometheus at
` + "`/metrics`" + `. No metric has a chat or a tenant as a label.

What to look at first:

| look at | because |
|---|---|
| ` + "`everturn_orchestrator_unknown_total`" + ` | each is a call of which nobody can say whether it had its effect |
| ` + "`everturn_orchestrator_faults_total`, `…_undeliverable_total`, `…_stopped_total`" + ` | these are our mistakes, or damage; they stay at 0 |
| ` + "`everturn_streams_full_percent`, `everturn_streams_unsafe`" + ` | a full stream stops what needs it, and one that somebody changed could lose commits |
| ` + "`everturn_orchestrator_redispatched_total`" + ` | the sweep had to repair something: a stream was lost, or a process died at a rare moment |
| ` + "`everturn_orchestrator_versions_total`" + ` | a newer release writes logs that this one does not read: finish the upgrade |
| ` + "`everturn_orchestrator_conflicts_total`" + ` | some are normal with several orchestrators; many mean that few chats get many commands |

What asking models takes is counted under the names that other tools know, those of OpenTelemetry's conventions for generative AI in
version 1.41.0: ` + "`gen_ai_client_operation_duration_seconds`, `gen_ai_client_operation_time_to_first_chunk_seconds` and `gen_ai_client_token_usage`" + `,
by model, provider, and kind of token or error. Input tokens include the cached ones there.
`

// ordinary says what fields mean that mean the same everywhere, where the Go
// type says nothing of its own.
var ordinary = map[string]string{
	"v":            "Version of this body: 1.",
	"tenant":       "Who owns the chat.",
	"chat":         "Id of the chat.",
	"rev":          "Number of the commit that caused this.",
	"turn":         "Number of the turn.",
	"step":         "Id of the step.",
	"attempt":      "Number of the attempt, from 1.",
	"call":         "Id of the call.",
	"tool":         "Name of the tool.",
	"group":        "Group of runners that has the tool.",
	"manifest":     "Digest of the tool's manifest.",
	"runner":       "Name of the runner's process: its group, a dot and a ULID.",
	"claim":        "ULID of the claim.",
	"delivery":     "How often the queue has delivered the work, this time included.",
	"input":        "Id of the input: that of the command that brought it.",
	"parts":        "The content.",
	"by":           "Who, as the sender says.",
	"title":        "The title.",
	"settings":     "The settings.",
	"model":        "Name of the model.",
	"pool":         "Which workers ask the model.",
	"reason":       "Why, for people.",
	"message":      "What happened, for people.",
	"verb":         "Verb of the command.",
	"code":         "See the table of codes.",
	"class":        "See the classes of errors.",
	"usage":        "Tokens used.",
	"totals":       "What the turn took.",
	"timing":       "How long it took.",
	"at":           "When.",
	"due":          "When its timer is due.",
	"timeout_ms":   "How long the tool may run.",
	"deadline":     "When the call is settled without its runner.",
	"key":          "Idempotency key: the same for the same call, for ever.",
	"is_error":     "The model is told that this is an error.",
	"truncated":    "The content was cut to fit.",
	"blob":         "Digest of the whole content in the object store.",
	"bytes":        "Size of the whole content.",
	"why":          "Why, for people.",
	"error":        "What was wrong; empty if nothing.",
	"idempotent":   "It may run again under the same key.",
	"read_only":    "It has no effect outside.",
	"parallel":     "It may run beside its neighbours.",
	"exclusive":    "It must be alone in its step.",
	"stop_after":   "Its success ends the turn.",
	"permissions":  "What was granted with the call.",
	"text":         "The text.",
	"i":            "Counts the messages, from 0.",
	"name":         "Its name.",
	"request_id":   "The provider's id of the request.",
	"response_id":  "The provider's id of the answer.",
	"data":         "Bytes of the content.",
	"chunks":       "Digests of the pieces, in order.",
	"status":       "See the statuses of a call.",
	"system":       "The system prompt.",
	"limits":       "Bounds of a turn.",
	"type":         "See the types of parts.",
	"provider":     "Who made it.",
	"arguments":    "The call's arguments.",
	"provider_id":  "The provider's name for the call.",
	"media_type":   "Media type, as in HTTP.",
	"url":          "Where it is.",
	"running":      "The claim still runs.",
	"refused":      "One text for each manifest.",
	"digests":      "One for each manifest, empty for what was refused.",
	"digest":       "Digest of the whole.",
	"body":         "The whole.",
	"retry_at":     "When the next attempt is made.",
	"id":           "Its id.",
	"ok":           "It was accepted.",
	"output":       "Tokens the model wrote.",
	"cache_read":   "Tokens read from the provider's cache.",
	"cache_write":  "Tokens written to the provider's cache.",
	"manifests":    "The tools on offer.",
	"ran_ms":       "How long the tool ran.",
	"description":  "What the model is told about the tool.",
	"part":         "Index of the part in the answer, from 0.",
	"kind":         "What grows: `text`, `reasoning` or `call`.",
	"steps":        "How many steps.",
	"attempts":     "How many attempts.",
	"calls":        "How many calls.",
	"offset":       "First byte wanted.",
	"parent":       "Number of the turn before it.",
	"inputs":       "Ids of the inputs the turn takes.",
	"rules":        "Number of the decision rules.",
	"prompt_rules": "Number of the prompt rules.",
	"grant_ms":     "How long the licence can be used.",
	"retry_ms":     "When to ask again.",
	"prompt":       "Digest of what the model was shown.",
}
