package index

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
)

// Sizes of what is kept of a chat.
const (
	maxTitleChars  = 50       // of the first input, in place of a title
	maxNameBytes   = 256      // of a title, an owner, a tool, a model, an agent
	maxOpenBytes   = 1 << 10  // of what is told of something that waits
	maxSaidBytes   = 64 << 10 // of one message that can be searched; the rest is not
	maxWaiting     = 1_000    // inputs and open attempts that are remembered; a chat has fewer
	maxAgentBodies = 64       // settings whose agent is remembered; decisions remember fewer
)

// place is where a commit lies: a stream, and its sequence there.
type place struct {
	Shard    int    `json:"shard"`
	Sequence uint64 `json:"sequence"`
}

// chat is all that is kept of a chat to list it, and to fold its next commit.
type chat struct {
	place

	Tenant string `json:"tenant"`

	listing.Chat

	Titled  bool      `json:"titled,omitempty"`   // somebody set the title
	TitleAs int64     `json:"title_as,omitempty"` // the id of the title among what was said
	Open    []open    `json:"open,omitempty"`     // what waits for somebody, since when
	Asked   []asked   `json:"asked,omitempty"`    // attempts that are not over
	Waiting []waiting `json:"waiting,omitempty"`  // inputs that are in no turn yet
	Agents  []agentOf `json:"agents,omitempty"`   // of the settings of turns, the newest last
	Spender string    `json:"spender,omitempty"`  // the agent of the newest turn, which what it uses is counted for
	Gone    bool      `json:"gone,omitempty"`     // it is erased
	ordinal int       // of the next thing that is said in the commit that is folded
}

// open is something that waits for somebody.
type open struct {
	Kind  listing.OpenKind  `json:"kind"`
	Since events.Time       `json:"since"`
	Rev   uint64            `json:"rev"`
	Due   events.Time       `json:"due,omitempty"`
	Turn  int               `json:"turn"`
	Call  *events.CallID    `json:"call,omitempty"`
	Tool  string            `json:"tool,omitempty"`
	Text  string            `json:"text,omitempty"`
	Class events.ErrorClass `json:"class,omitempty"`
}

// asked is an attempt whose end has not come.
type asked struct {
	Step    events.StepID  `json:"step"`
	Attempt int            `json:"attempt"`
	Model   string         `json:"model"`
	Purpose events.Purpose `json:"purpose"`

	// Inherited says that the chat which this one goes on from has asked: it is counted
	// there.
	Inherited bool `json:"inherited,omitempty"`
}

// waiting is an input that may still be changed or taken back.
type waiting struct {
	Input string `json:"input"`
	ID    int64  `json:"id"` // among what was said; 0 as long as it has no words
}

// agentOf is the agent of recorded settings.
type agentOf struct {
	Digest events.Digest `json:"digest"`
	Agent  string        `json:"agent"`
}

// said is something that can be found by its words.
type said struct {
	place

	id        int64
	rev       uint64
	at        events.Time
	turn      int
	kind      listing.Kind
	by        string
	text      string
	inherited bool
}

// spentAs is what usage is kept apart by, besides the chat.
type spentAs struct{ day, model, agent string }

// change is what follows from commits of a chat besides what is kept of it.
type change struct {
	fresh   bool // nothing that was kept before counts any more
	said    []said
	unsaid  []int64
	spent   map[spentAs]listing.Spent
	moved   []moved
	trouble []trouble
}

// moved is when a chat had its place in the list.
type moved struct {
	rev      uint64
	sequence uint64
	at       events.Time
}

// trouble is a commit that was set aside, in whole or in part.
type trouble struct {
	place

	key events.Key
	rev uint64 // 0 if nobody can tell
	why string
}

// Bits of the id of something that was said. Ids grow with the second in which it was
// said, so the newest is found first, and then with its place in the logs, so each has
// its own, and the same in every file. What a chat goes on from was said long before
// and lies in one commit: it has ids of its own beside those of its second.
const (
	secondBits    = 33 // until the year 2242
	shardBits     = 8
	placeBits     = 21
	ordinalBits   = 3 // of those of the place; no commit has more to say
	inheritedBit  = 1 << placeBits
	knuthsFactor  = 2_654_435_761 // spreads neighbours
	msPerSecond   = 1_000
	lastOrdinal   = 1<<ordinalBits - 1
	lastInherited = 1<<placeBits - 1
)

// saidID is the id of the next thing that is said in a commit; false if there are too
// many in it.
func (f *fold) saidID() (int64, bool) {
	c := f.chat
	low := int64(c.Sequence<<ordinalBits|uint64(c.ordinal)) & lastInherited
	last := lastOrdinal
	if f.inherited {
		low, last = int64(c.Sequence*knuthsFactor+uint64(c.ordinal))&lastInherited|inheritedBit, lastInherited
	}
	if c.ordinal > last {
		return 0, false
	}
	c.ordinal++
	second := min(max(int64(f.at)/msPerSecond, 0), 1<<secondBits-1)
	return second<<(shardBits+1+placeBits) | int64(c.Shard)<<(1+placeBits) | low, true
}

// clean is text as it is kept: repaired, and not longer than that.
func clean(s string, limit int) string { return events.CutText(events.RepairText(s), limit) }

// close forgets what waits and is meant.
func (c *chat) close(meant func(open) bool) {
	c.Open = slices.DeleteFunc(c.Open, meant)
	if len(c.Open) == 0 {
		c.Open = nil
	}
}

// closeCall forgets what waits for a call.
func (c *chat) closeCall(id events.CallID) {
	c.close(func(o open) bool { return o.Call != nil && *o.Call == id })
}

// takeAsked is the attempt of that step and number, which is over now.
func (c *chat) takeAsked(step events.StepID, attempt int) (asked, bool) {
	i := slices.IndexFunc(c.Asked, func(a asked) bool { return a.Step == step && a.Attempt == attempt })
	if i < 0 {
		return asked{}, false
	}
	a := c.Asked[i]
	c.Asked = slices.Delete(c.Asked, i, i+1)
	return a, true
}

// takeWaiting is the input of that id, which waits no more.
func (c *chat) takeWaiting(input string) (waiting, bool) {
	i := slices.IndexFunc(c.Waiting, func(w waiting) bool { return w.Input == input })
	if i < 0 {
		return waiting{}, false
	}
	w := c.Waiting[i]
	c.Waiting = slices.Delete(c.Waiting, i, i+1)
	return w, true
}

// agent is that of a turn's settings.
func (c *chat) agent(r events.RecordedSettings) string {
	if r.Body != nil {
		c.Agents = append(c.Agents, agentOf{r.Digest, clean(r.Body.Agent, maxNameBytes)})
		c.Agents = c.Agents[max(0, len(c.Agents)-maxAgentBodies):]
	}
	for _, a := range slices.Backward(c.Agents) {
		if a.Digest == r.Digest {
			return a.Agent
		}
	}
	return c.Agent
}
