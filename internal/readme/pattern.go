package readme

import (
	"regexp"
	"strings"
)

// Anything stands for what a page does not say.
const Anything = "…"

// varies is what differs from one time to the next, by how it looks.
var varies = []struct{ looks, any string }{
	{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`, ""},
	{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, ""},
	{`\d\d:\d\d:\d\d`, ""},
	{`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`, ""},
	{`\b[0-9a-f]{64}\b`, ""},
	{`127\.0\.0\.1:\d+`, ""},
	{Anything, `.*?`},
}

var looks = func() *regexp.Regexp {
	all := make([]string, len(varies))
	for n, v := range varies {
		all[n] = "(" + v.looks + ")"
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}()

// Whole matches what a terminal shows when it shows text and nothing else: the
// same lines, in which ids, times, digests and ports may be others.
func Whole(text string) *regexp.Regexp { return regexp.MustCompile(`^` + pattern(text) + `$`) }

// Part is [Whole] with anything around it.
func Part(text string) *regexp.Regexp { return regexp.MustCompile(`(?:^|\n)` + pattern(text)) }

func pattern(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if line == Anything {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		from := 0
		for _, at := range looks.FindAllStringSubmatchIndex(line, -1) {
			b.WriteString(regexp.QuoteMeta(line[from:at[0]]))
			b.WriteString(anyLike(at))
			from = at[1]
		}
		b.WriteString(regexp.QuoteMeta(line[from:]) + `[ \t]*\n`)
	}
	return b.String()
}

// anyLike is the expression for everything that looks like the match at.
func anyLike(at []int) string {
	for n, v := range varies {
		if at[2+2*n] >= 0 {
			if v.any != "" {
				return v.any
			}
			return v.looks
		}
	}
	return ""
}
