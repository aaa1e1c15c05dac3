package page

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A text that a model wrote keeps nobody busy, however it is made.
func TestHostileMarkdownIsReadInTime(t *testing.T) {
	t.Parallel()
	many := func(s string) string { return strings.Repeat(s, maxMarkdownBytes/len(s)) }
	texts := map[string]string{
		"quotes in quotes":   many(">"),
		"items in items":     many("- ") + "a",
		"numbers in numbers": many("1. ") + "a",
		"links in links":     many("[a]("),
		"open brackets":      many("["),
		"pictures":           many("![") + "a" + many("](b)"),
		"mixed emphasis":     many("*a_ "),
		"emphasis":           many("**a "),
		"strikes":            many("~~a "),
		"tags":               many("<a "),
		"columns":            many("|a")[:64<<10] + "\n" + many("|-")[:64<<10] + many("\n|")[:64<<10],
		"rows":               strings.Repeat("|a", 90) + "\n" + strings.Repeat("|-", 90) + many("\n|"),
		"references":         many("[a]: b\n"),
		"spaced references":  many("[a]: b\n\n"),
		"quoted paragraphs":  many(strings.Repeat(">", 90) + "a\n\n"),
		"bounded paragraphs": many(strings.Repeat("*a_ ", 900) + "\n\n"),
		"bounded links":      many(strings.Repeat("[a](", 1900) + "\n\n"),
		"addresses":          many("http://a.b("),
		"code spans":         many("` `` "),
		"deeper and deeper":  deeper(450),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inTime(t, text)
		})
	}
}

// Nor does any mixture of what means something.
func TestMixedMarkdownIsReadInTime(t *testing.T) {
	t.Parallel()
	pieces := []string{"*", "_", "**", "~~", "[", "](", ")", "![", "`", "<a", ">", "> ", "- ", "1. ", "|", "|-", "\n", "\n\n", "    ", "a", "#", "http://a", "&#1;", "\\", ": "}
	for seed := range uint64(12) {
		chance := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // which texts are tried is no secret
		few := make([]string, 3)
		for i := range few {
			few[i] = pieces[chance.IntN(len(pieces))]
		}
		var text strings.Builder
		for text.Len() < 64<<10 {
			text.WriteString(few[chance.IntN(len(few))])
		}
		inTime(t, text.String())
	}
}

func inTime(t *testing.T, text string) {
	t.Helper()
	read := make(chan int, 1)
	go func() { read <- len(markdown(text)) }()
	select {
	case n := <-read:
		if n > 16<<20 {
			t.Errorf("%d bytes became %d: %.80q", len(text), n, text)
		}
	case <-time.After(muchTime):
		t.Fatalf("it takes too long: %.80q", text)
	}
}

// deeper is a list, each item of which has one below it.
func deeper(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

// What people and models do write is read as Markdown.
func TestLongMarkdownIsNotTangled(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a long answer": strings.Repeat("Some *words* and `code`, a [link](https://example.com/a_b_c) and more.\n\n", 2_000),
		"a long table":  "|a|b|c|d|\n|-|-|-|-|\n" + strings.Repeat("|1|2|**3**|4|\n", 400),
		"a program":     "```go\n" + strings.Repeat("\tlist[i], err = some_name(*p, &q)\n", 300) + "```\n",
		"a long list":   strings.Repeat("- an item with *words*\n", 500),
		"a rule":        "a\n\n" + strings.Repeat("-", 500) + "\n\nb",
	} {
		if tangled(text) {
			t.Errorf("%s is taken for hostile", name)
		}
	}
}
