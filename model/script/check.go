package script

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxCalls bounds the calls of one piece: enough to go over every limit.
const maxCalls = 10_000

// check says everything that is wrong with a script that could be read.
func check(name string, src []byte, f file) error {
	c := checker{name: name}
	c.tree, _ = parser.ParseBytes(src, 0) // it has been parsed once; without it places are missing, no more
	if len(f.Rules) == 0 {
		c.wrong("$", "there are no rules")
	}
	if f.Pace < 0 {
		c.wrong("$.pace", "want 0 or more")
	}
	for i, r := range f.Rules {
		path := fmt.Sprintf("$.rules[%d]", i)
		if i > 0 && f.Rules[i-1].When == (condition{}) {
			c.wrong(path, "never used: the rule before it answers everything")
		}
		c.rule(path, r)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	name string
	tree *ast.File
	errs []error
}

// wrong notes a problem at a path of the script.
func (c *checker) wrong(path, format string, args ...any) {
	place := c.name
	if at, ok := c.position(path); ok {
		place += at
	}
	c.errs = append(c.errs, fmt.Errorf("script %s: %s", place, fmt.Sprintf(format, args...)))
}

func (c *checker) position(path string) (string, bool) {
	if c.tree == nil {
		return "", false
	}
	p, err := yaml.PathString(path)
	if err != nil {
		return "", false
	}
	node, err := p.FilterFile(c.tree)
	if err != nil || node == nil {
		return "", false
	}
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		node = m.Values[0].Key // a block begins where its first key does, not at the colon
	}
	at := node.GetToken().Position
	return fmt.Sprintf(":%d:%d", at.Line, at.Column), true
}

func (c *checker) rule(path string, r rule) {
	if r.When.Step < 0 {
		c.wrong(path+".when.step", "steps count from 1")
	}
	if r.Pace != nil && *r.Pace < 0 {
		c.wrong(path+".pace", "want 0 or more")
	}
	if u := r.Usage; u != nil && min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 {
		c.wrong(path+".usage", "want no negative numbers")
	}
	if r.Answer == nil {
		c.wrong(path, "answer: there is none; [] is an empty one")
	}
	ended := false
	for i, p := range r.Answer {
		at := fmt.Sprintf("%s.answer[%d]", path, i)
		if ended {
			c.wrong(at, "never reached: the answer ends before it")
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
		c.wrong(path, "want exactly one of text, text_hex, reasoning, reasoning_hex, call, pause, fail, cut and stop")
	}
	c.template(path+".text", p.Text)
	c.template(path+".reasoning", p.Reasoning)
	c.hex(path+".text_hex", p.TextHex)
	c.hex(path+".reasoning_hex", p.ReasoningHex)
	if p.Call != nil {
		c.call(path+".call", *p.Call)
	}
	if p.Pause != nil && *p.Pause < 0 {
		c.wrong(path+".pause", "want 0 or more")
	}
	if p.Fail != nil {
		c.failure(path+".fail", *p.Fail)
	}
	if p.Stop != nil && !slices.Contains(stops, *p.Stop) {
		c.wrong(path+".stop", "%q, want one of %v", *p.Stop, stops)
	}
}

func (c *checker) call(path string, k call) {
	if k.Name == "" {
		c.wrong(path, "name: there is none")
	}
	if k.Arguments != nil && k.ArgumentsHex != nil {
		c.wrong(path, "want at most one of arguments and arguments_hex")
	}
	c.template(path+".arguments", k.Arguments)
	c.hex(path+".arguments_hex", k.ArgumentsHex)
	if k.Count < 0 || k.Count > maxCalls {
		c.wrong(path+".count", "want 1 to %d", maxCalls)
	}
}

func (c *checker) failure(path string, f failure) {
	if !slices.Contains(classes, f.Class) {
		c.wrong(path, "class: %q, want one of %v", f.Class, classes)
	}
	if f.RetryAfter < 0 || f.Times < 0 || f.Status < 0 {
		c.wrong(path, "want no negative numbers")
	}
}

func (c *checker) template(path string, text *string) {
	if text == nil {
		return
	}
	for _, name := range placeholders(*text) {
		if !slices.Contains(known, name) {
			c.wrong(path, "{{%s}} is not known, want one of %v", name, known)
		}
	}
}

func (c *checker) hex(path string, text *string) {
	if text == nil {
		return
	}
	if _, err := hex.DecodeString(*text); err != nil {
		c.wrong(path, "want pairs of hexadecimal digits")
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
