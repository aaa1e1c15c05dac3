package listing

import "github.com/everturn/everturn/events"

// MaxSearchBytes bounds what can be searched for.
const MaxSearchBytes = 1 << 10

// SearchRequest asks where something was said, the newest first. Every word of Text
// must stand in what is found, in any order; words in double quotes must follow each
// other; a word that ends in * stands for all that begin with it. Nothing else has a
// meaning of its own.
//
// What is said, and what is taken back, between two pages moves nothing: each hit that
// stays is on one page.
type SearchRequest struct {
	V      int    `json:"v,omitempty"`
	Text   string `json:"text"`
	After  Cursor `json:"after,omitempty"`  // older ones than that; the next of an answer
	Before Cursor `json:"before,omitempty"` // newer ones than that; the previous of an answer
	Limit  int    `json:"limit,omitempty"`  // how many at most; default 50

	Chat  string `json:"chat,omitempty"`  // only in this chat
	Owner string `json:"owner,omitempty"` // only in chats that this one made
	Kind  Kind   `json:"kind,omitempty"`  // only this
}

// Kind says who said something.
type Kind string

// The kinds. A title is the name of a chat.
const (
	KindUser      Kind = "user"
	KindAssistant Kind = "assistant"
	KindTitle     Kind = "title"
)

// Hits is a page of what was found.
type Hits struct {
	Hits     []Hit  `json:"hits"`
	Next     Cursor `json:"next,omitempty"`
	Previous Cursor `json:"previous,omitempty"`
}

// Hit is a place where what was searched for stands.
type Hit struct {
	Chat  string      `json:"chat"`
	Title string      `json:"title"` // of the chat, now
	Rev   uint64      `json:"rev"`   // of the commit that it stands in, or that brought it here
	At    events.Time `json:"at"`    // when it was said
	Turn  int         `json:"turn,omitempty"`
	Kind  Kind        `json:"kind"`
	By    string      `json:"by,omitempty"` // of what people said

	// Inherited says that it was said in the chat that this one goes on from.
	Inherited bool `json:"inherited,omitempty"`

	Snippet []Piece `json:"snippet"` // the words around what was found
}

// Piece is a part of a snippet.
type Piece struct {
	Text  string `json:"text"`
	Found bool   `json:"found,omitempty"` // it is what was searched for
}
