package script

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
)

// maxCalls bounds the calls of one piece: enough to go over every limit.
const maxCalls = 10_000

// check says everything that is wrong with a script that could be read.
func check(read *yamlfile.File, f file) error {
	c := checker{read}
	if len(f.Rules) == 0 {
		c.Wrong("$", "there are no rules")
	}
	if f.Pace < 0 {
		c.Wrong("$.pace", "want 0 or more")
	}
	for i, r := range f.Rules {
		path := fmt.Sprintf("$.rules[%d]", i)
		if i > 0 && f.Rules[i-1].When == (condition{}) {
			c.Wrong(path, "never used: the rule before it answers everything")
		}
		c.rule(path, r)
	}
	return read.Err()
}

type checker struct{ *yamlfile.File }

func (c *checker) rule(path string, r rule) {
	if r.When.Step < 0 {
		c.Wrong(path+".when.step", "steps count from 1")
	}
	if r.Pace != nil && *r.Pace < 0 {
		c.Wrong(path+".pace", "want 0 or more")
	}
	if u := r.Usage; u != nil && min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 {
		c.Wrong(path+".usage", "want no negative numbers")
	}
	if r.Answer == nil {
		c.Wrong(path, "answer: there is none; [] is an empty one")
	}
	ended := false
	for i, p := range r.Answer {
		at := fmt.Sprintf("%s.answer[%d]", path, i)
		if ended {
			c.Wrong(at, "never reached: the answer ends before it")
			return
		}
		c.piece(at, p)
		ended = p.Cut != nil && *p.Cut || p.Fail != nil && p.Fail.Times == 0
	}
}

func (c *checker) piece(path string, p piece) {
	set := []bool{
		p.Text != nil, p.TextHex != nil, p.Reasoning != nil, p.ReasoningHex != nil, p.Call != nil,
		p.Pause != nil, p.Fail != nil, p.Cut != nil, p.Stop != nil,
	}
	if n := len(slices.DeleteFunc(set, func(is bool) bool { return !is })); n != 1 {
		c.Wrong(path, "want exactly one of text, text_hex, reasoning, reasoning_hex, call, pause, fail, cut and stop")
	}
	c.template(path+".text", p.Text)
	c.template(path+".reasoning", p.Reasoning)
	c.hex(path+".text_hex", p.TextHex)
	c.hex(path+".reasoning_hex", p.ReasoningHex)
	if p.Call != nil {
		c.call(path+".call", *p.Call)
	}
	if p.Pause != nil && *p.Pause < 0 {
		c.Wrong(path+".pause", "want 0 or more")
	}
	if p.Fail != nil {
		c.failure(path+".fail", *p.Fail)
	}
	if p.Stop != nil && !slices.Contains(stops, *p.Stop) {
		c.Wrong(path+".stop", "%q, want one of %v", *p.Stop, stops)
	}
}

func (c *checker) call(path string, k call) {
	if k.Name == "" {
		c.Wrong(path, "name: there is none")
	}
	if k.Arguments != nil && k.ArgumentsHex != nil {
		c.Wrong(path, "want at most one of arguments and arguments_hex")
	}
	c.template(path+".arguments", k.Arguments)
	c.hex(path+".arguments_hex", k.ArgumentsHex)
	if k.Count < 0 || k.Count > maxCalls {
		c.Wrong(path+".count", "want 1 to %d", maxCalls)
	}
}

func (c *checker) failure(path string, f failure) {
	if !slices.Contains(classes, f.Class) {
		c.Wrong(path, "class: %q, want one of %v", f.Class, classes)
	}
	if f.RetryAfter < 0 || f.Times < 0 || f.Status < 0 {
		c.Wrong(path, "want no negative numbers")
	}
}

func (c *checker) template(path string, text *string) {
	if text == nil {
		return
	}
	for _, name := range placeholders(*text) {
		if !slices.Contains(known, name) {
			c.Wrong(path, "{{%s}} is not known, want one of %v", name, known)
		}
	}
}

func (c *checker) hex(path string, text *string) {
	if text == nil {
		return
	}
	if _, err := hex.DecodeString(*text); err != nil {
		c.Wrong(path, "want pairs of hexadecimal digits")
	}
}

// What a script may say. Crashes and too many calls are nothing a model reports.
var (
	stops   = []events.Stop{events.StopEnd, events.StopCalls, events.StopLength, events.StopRefused, events.StopPaused}
	classes = []events.ErrorClass{
		events.ClassIncomplete, events.ClassOverloaded, events.ClassQuota, events.ClassAuth, events.ClassRateLimit,
		events.ClassContextTooLarge, events.ClassContentFilter, events.ClassTimeout, events.ClassStreamSilence,
		events.ClassTransport, events.ClassInvalidRequest, events.ClassInternal, events.ClassCancelled, events.ClassUnknown,
	}
)
