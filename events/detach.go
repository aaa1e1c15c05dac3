package events

// mediaOpaque marks a reasoning part whose Blob stands for its Opaque, not for
// its Text.
const mediaOpaque = "application/octet-stream"

// content is the field of p that Blob can stand for, nil if it has none.
func (p *Part) content() (text *string, opaque *[]byte) {
	switch p.Type {
	case PartText:
		return &p.Text, nil
	case PartReasoning:
		if p.MediaType == mediaOpaque || p.Blob == "" && len(p.Opaque) > len(p.Text) {
			return nil, &p.Opaque
		}
		return &p.Text, nil
	case PartCall:
		return &p.Arguments, nil
	case PartData:
		return &p.JSON, nil
	case PartProviderCall, PartProviderResult:
		return nil, &p.Opaque
	case PartImage, PartFile, PartSource:
	}
	return nil, nil
}

// ContentBytes is the size of the content that [Part.Detach] would take out.
func (p Part) ContentBytes() int {
	switch text, opaque := p.content(); {
	case p.Blob != "":
		return 0
	case text != nil:
		return len(*text)
	case opaque != nil:
		return len(*opaque)
	}
	return 0
}

// Detach is p with its content named by digest, and that content, to be stored
// under Blob. A part without content of its own comes back as it is, with nil.
func (p Part) Detach() (Part, []byte) {
	if p.ContentBytes() == 0 {
		return p, nil
	}
	var content []byte
	switch text, opaque := p.content(); {
	case text != nil:
		content, *text = []byte(*text), ""
	default:
		content, *opaque = *opaque, nil
		if p.Type == PartReasoning {
			p.MediaType = mediaOpaque
		}
	}
	p.Blob, p.Bytes = DigestOf(content), int64(len(content))
	return p, content
}

// Attach is the inverse of [Part.Detach]. A part whose Blob stands for nothing
// but itself, such as an image, comes back as it is.
func (p Part) Attach(content []byte) Part {
	switch text, opaque := p.content(); {
	case text != nil:
		*text = string(content)
	case opaque != nil:
		*opaque = content
		if p.Type == PartReasoning {
			p.MediaType = ""
		}
	default:
		return p
	}
	p.Blob, p.Bytes = "", 0
	return p
}

// Parts is the content that an event carries, nil for most.
func Parts(e Event) []Part {
	switch e := e.(type) {
	case InputAccepted:
		return e.Parts
	case InputEdited:
		return e.Parts
	case StepCompleted:
		return e.Parts
	case StepInterrupted:
		return e.Parts
	case ToolCompleted:
		return e.Parts
	case ApprovalResolved:
		return e.Edited
	case ContextCompacted:
		return e.Summary
	case ChatCreated, ChatInherited, ChatConfigured, ChatTitled, ChatArchived, ChatUnarchived, CommandRejected, CommandNoted,
		InputPromoted, InputSteered, InputWithdrawn, BranchSelected, TurnStarted, TurnInterruptRequested, TurnCompleted, TurnFailed, TurnInterrupted,
		StepRequested, StepFailed, ToolRequested, ToolStarted,
		QuestionAsked, QuestionHeld, QuestionAnswered, ApprovalRequested, ModeSet,
		ChatEraseRequested, ChatErased, ContentDeleted, ActionRequested, AgentNamed, SkillActivated, BudgetReached, BudgetExtended, ChatSpawned, ChildSpawned, ChildEnded,
		ContextCompactionFailed, ContextCleared, ContextRestored:
	}
	return nil
}

// WithParts is e with other parts in place of its own.
func WithParts(e Event, parts []Part) Event {
	switch e := e.(type) {
	case InputAccepted:
		e.Parts = parts
		return e
	case InputEdited:
		e.Parts = parts
		return e
	case StepCompleted:
		e.Parts = parts
		return e
	case StepInterrupted:
		e.Parts = parts
		return e
	case ToolCompleted:
		e.Parts = parts
		return e
	case ApprovalResolved:
		e.Edited = parts
		return e
	case ContextCompacted:
		e.Summary = parts
		return e
	case ChatCreated, ChatInherited, ChatConfigured, ChatTitled, ChatArchived, ChatUnarchived, CommandRejected, CommandNoted,
		InputPromoted, InputSteered, InputWithdrawn, BranchSelected, TurnStarted, TurnInterruptRequested, TurnCompleted, TurnFailed, TurnInterrupted,
		StepRequested, StepFailed, ToolRequested, ToolStarted,
		QuestionAsked, QuestionHeld, QuestionAnswered, ApprovalRequested, ModeSet,
		ChatEraseRequested, ChatErased, ContentDeleted, ActionRequested, AgentNamed, SkillActivated, BudgetReached, BudgetExtended, ChatSpawned, ChildSpawned, ChildEnded,
		ContextCompactionFailed, ContextCleared, ContextRestored:
	}
	return e
}

// ContentOf names the content of the chat that an event refers to. The history
// of a [ChatInherited] is not among it.
func ContentOf(e Event) []Digest {
	var found []Digest
	for _, p := range Parts(e) {
		if p.Blob != "" {
			found = append(found, p.Blob)
		}
	}
	if e, ok := e.(SkillActivated); ok {
		found = append(found, e.Digest)
	}
	if e, ok := e.(ToolCompleted); ok {
		if e.Blob != "" {
			found = append(found, e.Blob)
		}
		for _, a := range e.Artifacts {
			found = append(found, a.Digest)
		}
	}
	return found
}
