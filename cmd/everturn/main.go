// Command everturn is Everturn in one binary: everything at once on an embedded
// server, or the command line for what runs elsewhere.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"

	"github.com/alecthomas/kong"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

const description = "Durable AI chats on NATS JetStream. `everturn run TEXT` shows one turn; `everturn dev` starts everything and stays."

const name = "everturn"

func main() {
	launcher := sandbox.Enter()
	cli.Main(name, cli.ServiceHeadroom, func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		return run(ctx, launcher, args, stdout, stderr)
	})
}

// grammar is every command with its flags.
type grammar struct {
	cli.VersionFlag
	cli.LogFlags

	Run         runCommand         `cmd:"" help:"Run one turn with everything in this process, show it, and end."`
	Dev         devCommand         `cmd:"" help:"Run everything in this process until it is stopped."`
	Server      serverCommand      `cmd:"" help:"Run a NATS server only."`
	Projections projectionsCommand `cmd:"" help:"Answer queries about chats until stopped."`
	Gateway     gatewayCommand     `cmd:"" help:"Answer HTTP until stopped: browsers, programs, watchers."`
	MCP         mcpCommand         `cmd:"" name:"mcp" help:"Offer chats as tools to an MCP host, on standard input and output."`
	Send        sendCommand        `cmd:"" help:"Say something in a chat; without one, in a new chat."`
	Interrupt   interruptCommand   `cmd:"" help:"Stop a turn."`
	Retry       retryCommand       `cmd:"" help:"Ask the model once more for the step that failed."`
	Continue    continueCommand    `cmd:"" help:"Go on where a turn stopped."`
	ClientOwn   ownResultCommand   `cmd:"" name:"client-result" help:"Send what a tool of the client's own came to."`
	Compact     compactCommand     `cmd:"" help:"Have older messages replaced by a summary in what the model is shown."`
	Clear       clearCommand       `cmd:"" help:"Show the model nothing of what was said before."`
	Restore     restoreCommand     `cmd:"" help:"Undo the last compaction or clearing."`
	Answer      answerCommand      `cmd:"" help:"Answer what the assistant asks, or stop the clock of its question."`
	Withdraw    withdrawCommand    `cmd:"" help:"Take back an input that waits."`
	Promote     promoteCommand     `cmd:"" help:"Make an input that waits the next."`
	EditInput   editInputCommand   `cmd:"" help:"Change what an input says that waits."`
	Edit        editCommand        `cmd:"" help:"Say something else in place of what was said, beside it."`
	Regenerate  regenerateCommand  `cmd:"" help:"Have what was said answered once more, beside the answer."`
	Branch      branchCommand      `cmd:"" help:"Show a chat's branches, and go on with one."`
	Configure   configureCommand   `cmd:"" help:"Change a chat's settings, from its next turn on."`
	Approve     approveCommand     `cmd:"" help:"Let a call run that waits for approval, or deny it."`
	SetMode     setModeCommand     `cmd:"" help:"Say which calls of a chat need approval, or that its model only plans, from now on."`
	Extend      extendCommand      `cmd:"" help:"Give a turn that has used up its budget more, or its chat."`
	Rename      renameCommand      `cmd:"" help:"Give a chat a title."`
	Archive     archiveCommand     `cmd:"" help:"Put a chat away, until something is said in it."`
	Unarchive   unarchiveCommand   `cmd:"" help:"Bring an archived chat back."`
	Chats       chatsCommand       `cmd:"" help:"List chats, the one that changed last first."`
	Search      searchCommand      `cmd:"" help:"Find where something was said."`
	Open        openCommand        `cmd:"" help:"Show what waits for somebody: approvals, questions, calls of clients, budgets, failures."`
	Usage       usageCommand       `cmd:"" help:"Show what models were asked for, and what it cost."`
	Chat        chatCommand        `cmd:"" help:"Talk to the assistant, line by line."`
	Tail        tailCommand        `cmd:"" help:"Show what happens in a chat while it happens."`
	Transcript  transcriptCommand  `cmd:"" help:"Show a chat as people read it."`
	Artifacts   artifactsCommand   `cmd:"" help:"Show what a chat's model made for people to keep."`
	Download    downloadCommand    `cmd:"" help:"Write content of a chat, which other commands name by its digest."`
	LogOf       logCommand         `cmd:"" name:"log" help:"Show a chat's commits."`
	Export      exportCommand      `cmd:"" help:"Write a chat to a file, with all its content."`
	Import      importCommand      `cmd:"" help:"Make a chat out of such a file, here or in another installation."`
	Fork        forkCommand        `cmd:"" help:"Make a chat out of another one, as it is or was."`
	Erase       eraseCommand       `cmd:"" help:"Delete a chat for good, with all its content."`
	Retire      retireCommand      `cmd:"" help:"Move chats out: into verified files, and then out of the installation."`
	Streams     streamsCommand     `cmd:"" help:"Show, compare and set up the streams."`
	Dead        deadCommand        `cmd:"" help:"Show, redrive and drop commands that were set aside."`
	Replay      replayCommand      `cmd:"" help:"Decide logs again by the rules of today, and say where they would go another way."`
	Prompt      promptCommand      `cmd:"" help:"Show what a model was sent for a step."`
	Diff        diffCommand        `cmd:"" help:"Show what changed in a chat between two revs."`
	Why         whyCommand         `cmd:"" help:"Show what an event of a chat came from, back to the command."`
	Verify      verifyCommand      `cmd:"" help:"Check logs against every rule."`
	Models      modelsCommand      `cmd:"" help:"Show and try the models that can be asked."`
	Agents      agentsCommand      `cmd:"" help:"Show and keep named settings, which chats refer to."`
	Skills      skillsCommand      `cmd:"" help:"Show and keep skills: instructions that models read when a task needs them."`
	Tools       toolsCommand       `cmd:"" help:"Show the tools on offer, take one off the list, and check files that declare some."`
	Tokens      tokensCommand      `cmd:"" help:"Show, make and revoke tokens with which gateways are asked."`
	Webhooks    webhooksCommand    `cmd:"" help:"Send what happens in chats to other systems."`
	Config      configCommand      `cmd:"" help:"Check the configuration, and show what it comes to."`
	Doctor      doctorCommand      `cmd:"" help:"Check what everything rests on, and say what to do."`
	Completion  completionCommand  `cmd:"" help:"Print a script that lets a shell complete commands and flags."`
	Complete    completeCommand    `cmd:"" hidden:"" name:"__complete" passthrough:""`
	Bench       benchCommand       `cmd:"" help:"Measure turns against the least they could cost."`
	BenchTool   benchToolCommand   `cmd:"" hidden:""`
	Versions    versionCommand     `cmd:"" name:"version" help:"Show the versions of this binary."`
}

// surroundings are what the process gives to a command.
type surroundings struct {
	ctx            context.Context //nolint:containedctx // lives as long as the one command that is run
	stdin          io.Reader
	stdout, stderr io.Writer
	log            cli.LogFlags

	// signals begins to receive those that ask the process to end, until stop is
	// called: for a command that does more than end.
	signals func() (received <-chan os.Signal, stop func())

	launcher sandbox.Launcher // of commands that tools run

	called string        // how: what a person can type in front of a command
	parsed *kong.Context // what was typed
}

func signals() (received <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, cli.Signals()...)
	return c, func() { signal.Stop(c) }
}

// run is the whole command but for the end of the process, which it leaves to its
// caller.
func run(ctx context.Context, launcher sandbox.Launcher, args []string, stdout, stderr io.Writer) error {
	s := &surroundings{ctx: ctx, stdin: os.Stdin, stdout: stdout, stderr: stderr, signals: signals, called: os.Args[0], launcher: launcher}
	return s.run(args)
}

func (s *surroundings) run(args []string) error {
	var g grammar
	parsed, err := cli.Parse(&g, name, description, args, s.stdout, s.stderr, kong.Vars{"log_level": "WARN"})
	if err != nil {
		return err
	}
	s.log, s.parsed = g.LogFlags, parsed
	return parsed.Run(s)
}
