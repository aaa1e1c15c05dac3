package events

// Limits of artifacts.
const (
	MaxArtifacts          = 128 // with titles of their own, in one chat
	MaxArtifactsPerCall   = 16
	MaxArtifactTitleChars = 200
)

// Artifact is what a call made for people to keep: a document, a drawing, a
// program. Its content is in the object store, under its digest.
//
// The artifacts of a chat are told apart by their titles. One whose title was there
// before is the next version of it, on whatever branch that was; every version is
// kept.
type Artifact struct {
	Title   string `json:"title"`
	Version int    `json:"version"` // from 1
	Type    string `json:"type"`    // the media type, without parameters
	Digest  Digest `json:"digest"`
	Bytes   int64  `json:"bytes"`
}
