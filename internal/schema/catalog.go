package main

import (
	"reflect"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// body is one thing on the wire that has a schema.
type body struct {
	Name string // of its schema and, with an ending, of its wire file
	Type reflect.Type
	Dir  string // the package with its wire files

	// Strict bodies are refused when they hold a field nobody knows. All others
	// are read with such fields ignored, so that a newer sender is understood.
	Strict   bool
	Required []string // of strict bodies; of others what is always written
	Subject  string   // where it travels
	Example  string   // its wire file for the page
	Short    string   // of a command: the wire file with the least it can say
}

// bodyOf describes the body T. Its wire file is the full one.
func bodyOf[T any](name, subject string) body {
	return body{
		Name: name, Type: reflect.TypeFor[T](), Dir: "protocol", Subject: subject, Example: name + ".full.json", Short: name + ".full.json",
	}
}

// short makes the minimal wire file the one for the command line.
func (b body) short() body {
	b.Short = b.Name + ".minimal.json"
	return b
}

// example picks another wire file than the full one.
func (b body) example(size string) body {
	b.Example = b.Name + "." + size + ".json"
	return b
}

// catalog is everything with a schema: events by name, then bodies as the page
// about them goes.
func catalog() []body {
	var all []body
	for _, name := range events.TypeNames() {
		all = append(all, body{
			Name: string(name), Type: reflect.TypeOf(events.Types()[name]), Dir: "events", Example: string(name) + ".full.json",
		})
	}
	all = append(all, commands()...)
	all = append(all, reply())
	return append(all, forRunners()...)
}

// reply is what became of a command.
func reply() body {
	return bodyOf[protocol.Reply]("reply", "`everturn.reply.<tenant>.<command id>`").example("ok")
}

// commands are the bodies of the verbs, in the order of the page.
func commands() []body {
	return []body{
		command[protocol.Create]().short(),
		command[protocol.Send]("parts").short(),
		command[protocol.Interrupt]().short(),
		command[protocol.Configure]("settings"),
		command[protocol.Rename]("title"),
		command[protocol.Archive](),
		command[protocol.Unarchive](),
		command[protocol.Withdraw]("input"),
		command[protocol.Promote]("input").short(),
		command[protocol.EditInput]("input", "parts"),
		command[protocol.Retry]().short(),
		command[protocol.Continue]().short(),
		command[protocol.Edit]("parts").short(),
		command[protocol.Regenerate]().short(),
		command[protocol.SelectBranch]("turn"),
		command[protocol.Compact](),
		command[protocol.Clear](),
		command[protocol.Restore](),
		command[protocol.Fork]("chat").short(),
		command[protocol.Import]("history").short(),
		command[protocol.Answer]("call").short(),
		command[protocol.Approve]("call", "decision").short(),
		command[protocol.SetMode](),
		command[protocol.Extend]().short(),
		command[protocol.Erase]().short(),
		command[protocol.ClientResult]("call").short(),
	}
}

// command describes the verb of T; besides the version, the named fields are required.
func command[T protocol.Body](required ...string) body {
	var zero T
	verb := string(zero.Verb())
	b := bodyOf[T]("command."+verb, "`everturn.cmd.<tenant>.<chat>."+verb+"`")
	b.Strict, b.Required = true, append([]string{"v"}, required...)
	return b
}

// forRunners are the bodies that the author of a tool runner, a worker or a
// watcher reads and writes.
func forRunners() []body {
	return []body{
		bodyOf[protocol.ToolWork]("work.tool", "`everturn.work.tool.<group>.<tenant>.<chat>.<call>`"),
		bodyOf[protocol.Claim]("claim", "`everturn.claim.<tenant>.<chat>`"),
		bodyOf[protocol.ClaimAnswer]("claim-answer", "the claim's reply subject").example("granted"),
		bodyOf[protocol.Result]("result", "`everturn.result.<tenant>.<chat>`"),
		bodyOf[protocol.Artifact]("artifact", "inside of a result; its content is uploaded before"),
		bodyOf[protocol.ResultAnswer]("result-answer", "the result's reply subject").example("committed"),
		bodyOf[protocol.Ask]("ask", "`everturn.ask.<tenant>.<chat>`"),
		bodyOf[protocol.AskAnswer]("ask-answer", "the question's reply subject").example("answered"),
		bodyOf[protocol.RunnerQuestion]("runner-question", "`everturn.runner.<process>`"),
		bodyOf[protocol.RunnerAnswer]("runner-answer", "the question's reply subject"),
		bodyOf[protocol.Stop]("stop", "`everturn.stop.<tenant>.<chat>`").example("call"),
		bodyOf[protocol.Progress]("progress", "`everturn.feed.<tenant>.<chat>.progress`"),
		bodyOf[protocol.Manifest]("manifest", "inside of an offer; stored by its digest"),
		bodyOf[protocol.Offer]("offer", "`everturn.offer.<group>`"),
		bodyOf[protocol.OfferAnswer]("offer-answer", "the offer's reply subject"),
		bodyOf[protocol.Upload]("upload", "`everturn.upload.<tenant>.<chat>`").example("chunk"),
		bodyOf[protocol.UploadAnswer]("upload-answer", "the upload's reply subject"),
		bodyOf[protocol.Download]("download", "`everturn.download.<tenant>.<chat>`"),
		bodyOf[protocol.DownloadAnswer]("download-answer", "the download's reply subject"),
		bodyOf[protocol.ModelWork]("work.model", "`everturn.work.model.<pool>.<tenant>.<chat>.<step>-<attempt>`"),
		bodyOf[protocol.Delta]("delta", "`everturn.feed.<tenant>.<chat>.delta`"),
		bodyOf[protocol.Timer]("timer", "`everturn.timer.set.<tenant>.<chat>.<name>`, and back as `everturn.timer.due.<tenant>.<chat>.<name>`"),
	}
}
