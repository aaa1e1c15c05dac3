package protocol

import "github.com/everturn/everturn/events"

// Artifact is something that a tool made for people to keep. Its content was
// uploaded before; which version of its title it is, is for the chat to say.
type Artifact struct {
	Title  string        `json:"title"`          // on one line, such as the path of a file
	Type   string        `json:"type,omitempty"` // the media type, without parameters; application/octet-stream if left out
	Digest events.Digest `json:"digest"`
	Bytes  int64         `json:"bytes"` // at most [MaxUploadBytes]
}
