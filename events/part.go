package events

// PartType says what a part is.
type PartType string

// The kinds of content. Inputs, steps, results and transcripts share this list.
const (
	PartText           PartType = "text"
	PartReasoning      PartType = "reasoning"
	PartCall           PartType = "call"
	PartImage          PartType = "image"
	PartFile           PartType = "file"
	PartSource         PartType = "source"
	PartProviderCall   PartType = "provider_call"
	PartProviderResult PartType = "provider_result"
	PartData           PartType = "data"
)

// Part is one piece of content. Which fields are set follows from Type; the
// others are empty and left out of the JSON.
//
// Content above [MaxInlineBytes] is in the object store: Blob and Bytes stand
// in place of Text, Arguments, JSON or Opaque.
type Part struct {
	Type PartType `json:"type"`

	// Text of text and reasoning, always valid UTF-8 without NUL.
	Text string `json:"text,omitempty"`

	// Opaque is a provider's own data (a reasoning signature, a provider-run
	// call), kept byte for byte and given back only to that Provider and Model.
	Opaque   []byte `json:"opaque,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`

	// Ordinal counts the calls of a step from 1. Arguments is what the model
	// wrote, repaired to valid UTF-8 but otherwise untouched: it may be empty,
	// cut off or no JSON at all. ProviderID is the provider's name for the
	// call, which may be missing or repeated.
	Ordinal    int    `json:"ordinal,omitempty"`
	Arguments  string `json:"arguments,omitempty"`
	ProviderID string `json:"provider_id,omitempty"`

	// Name of the tool called, or of the file.
	Name string `json:"name,omitempty"`

	MediaType string `json:"media_type,omitempty"`
	URL       string `json:"url,omitempty"`
	Title     string `json:"title,omitempty"`

	// JSON is the content of a data part, as text.
	JSON string `json:"json,omitempty"`

	Blob  Digest `json:"blob,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Text is a text part.
func Text(s string) Part { return Part{Type: PartText, Text: s} }

// IsPlainText reports whether the part is text and nothing else is said of it.
func (p *Part) IsPlainText() bool {
	return p.Type == PartText && p.Text != "" && p.Ordinal == 0 && p.Arguments == "" && p.ProviderID == "" && p.Name == "" && p.isPlain()
}

// IsPlainCall reports whether the part is a call with all that makes one, and
// nothing else is said of it.
func (p *Part) IsPlainCall() bool {
	return p.Type == PartCall && p.Text == "" && p.Ordinal != 0 && p.Arguments != "" && p.ProviderID != "" && p.Name != "" && p.isPlain()
}

// isPlain reports whether nothing is said that only other parts have.
func (p *Part) isPlain() bool {
	return len(p.Opaque) == 0 && p.Provider == "" && p.Model == "" && p.MediaType == "" && p.URL == "" && p.Title == "" &&
		p.JSON == "" && p.Blob == "" && p.Bytes == 0
}
