package script

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// placeholder is what stands in a template for something of the request.
var placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// known are the names that may stand in a placeholder.
var known = []string{"input", "result", "step", "model"}

// placeholders are the names in a template.
func placeholders(template string) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		names = append(names, m[1])
	}
	return names
}

// view is what a script can know of a request.
type view struct {
	input  string // text of the last user message
	result string // texts of the results that came after it last
	step   int    // which answer since then, from 1
	model  string
	offers []model.Tool
}

func viewOf(r model.Request) view {
	v := view{step: 1, model: r.Model, offers: r.Tools}
	for _, m := range r.Messages {
		switch m.Role {
		case model.RoleUser:
			if m.Instruction {
				continue // nobody said it
			}
			v.input, v.result, v.step = textOf(m.Parts), "", 1
		case model.RoleAssistant:
			v.result = ""
			v.step++
		case model.RoleTool:
			texts := make([]string, len(m.Results))
			for i, res := range m.Results {
				texts[i] = textOf(res.Parts)
			}
			v.result = strings.Join(texts, "\n")
		}
	}
	return v
}

func textOf(parts []events.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == events.PartText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// fill puts the request's words into a template.
func (v view) fill(template string) string {
	return v.replace(template, func(s string) string { return s })
}

// fillJSON does so where the placeholders stand inside strings of JSON.
func (v view) fillJSON(template string) string {
	return v.replace(template, func(s string) string {
		quoted, err := json.Marshal(s)
		if err != nil {
			return "" // strings have JSON, whatever their bytes
		}
		return string(quoted[1 : len(quoted)-1])
	})
}

func (v view) replace(template string, escape func(string) string) string {
	return placeholder.ReplaceAllStringFunc(template, func(found string) string {
		switch placeholder.FindStringSubmatch(found)[1] {
		case "input":
			return escape(v.input)
		case "result":
			return escape(v.result)
		case "step":
			return strconv.Itoa(v.step)
		case "model":
			return escape(v.model)
		}
		return found // cannot be: the script was checked
	})
}
