package verify

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// Promptable says what is wrong with what a model is to be shown, or nothing:
// every call is followed by its result before anything else, no two calls share
// an id, nothing is empty, all text is text, and what one model keeps to itself
// is shown to no other.
func Promptable(r model.Request) string {
	return promptable(r, func(string) bool { return false })
}

// promptable is Promptable where other models have answered in place of r's.
func promptable(r model.Request, stoodIn func(name string) bool) string {
	seen := make(map[string]bool)
	for i := 0; i < len(r.Messages); i++ {
		m := r.Messages[i]
		if problem := whole(m, r.Model, stoodIn); problem != "" {
			return fmt.Sprintf("message %d: %s", i, problem)
		}
		calls := callsIn(m)
		if m.Role == model.RoleTool {
			return fmt.Sprintf("message %d: results without calls", i)
		}
		if len(calls) == 0 {
			continue
		}
		i++
		if i == len(r.Messages) || r.Messages[i].Role != model.RoleTool {
			return fmt.Sprintf("message %d: calls without results", i-1)
		}
		if problem := paired(calls, r.Messages[i].Results, seen); problem != "" {
			return fmt.Sprintf("message %d: %s", i, problem)
		}
	}
	return ""
}

func callsIn(m model.Message) []events.Part {
	var calls []events.Part
	for _, p := range m.Parts {
		if p.Type == events.PartCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// paired judges the results that follow calls.
func paired(calls []events.Part, results []model.Result, seen map[string]bool) string {
	if len(calls) != len(results) {
		return fmt.Sprintf("%d results for %d calls", len(results), len(calls))
	}
	for j, c := range calls {
		r := results[j]
		switch {
		case c.ProviderID != r.WireID:
			return fmt.Sprintf("result %d answers %q, call %d is %q", j, r.WireID, j, c.ProviderID)
		case r.WireID == "":
			return fmt.Sprintf("call %d has no id", j)
		case seen[r.WireID]:
			return fmt.Sprintf("the id %q comes twice", r.WireID)
		case len(r.Parts) == 0:
			return fmt.Sprintf("result %d is empty", j)
		}
		seen[r.WireID] = true
		if problem := readable(r.Parts); problem != "" {
			return fmt.Sprintf("result %d: %s", j, problem)
		}
	}
	return ""
}

// whole judges a message by itself.
func whole(m model.Message, modelName string, stoodIn func(string) bool) string {
	switch m.Role {
	case model.RoleUser, model.RoleAssistant:
		if len(m.Parts) == 0 {
			return "no content"
		}
	case model.RoleTool:
		if len(m.Results) == 0 {
			return "no results"
		}
	default:
		return fmt.Sprintf("role %q", m.Role)
	}
	for j, p := range m.Parts {
		if len(p.Opaque) > 0 && p.Model != "" && p.Model != modelName && !stoodIn(p.Model) {
			return fmt.Sprintf("part %d is for the model %s alone", j, p.Model)
		}
	}
	return readable(m.Parts)
}

// readable judges that parts are not empty and that their text is text.
func readable(parts []events.Part) string {
	for j, p := range parts {
		for _, text := range []string{p.Text, p.Arguments, p.JSON, p.Name, p.Title, p.ProviderID} {
			if !utf8.ValidString(text) || events.RepairText(text) != text {
				return fmt.Sprintf("part %d holds characters that no model takes", j)
			}
		}
		switch {
		case p.Blob != "":
		case p.Type == events.PartText && p.Text == "", p.Type == events.PartData && p.JSON == "":
			return fmt.Sprintf("part %d is empty", j)
		case p.Type == events.PartCall && !json.Valid([]byte(p.Arguments)):
			return fmt.Sprintf("part %d has arguments that are no JSON", j)
		}
	}
	return ""
}
