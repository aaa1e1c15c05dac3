package web

import (
	"bytes"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Limits of a text made of a page.
const (
	maxTextBytes = 4 << 20
	maxNesting   = 512 // of elements; browsers stop there as well
	maxLinks     = 2_000
)

// sniffedBytes is how much of some content is looked at to tell its encoding.
const sniffedBytes = 1 << 10

// IsPage says whether content of that type is HTML.
func IsPage(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// Decode is text in UTF-8 made of content in another encoding: the one that the server
// said, or that the content says itself. What is in none of them stays as it is.
func Decode(content []byte, mediaType, said string) string {
	declared := mediaType
	if said != "" {
		declared += "; charset=" + said
	}
	encoding, name, certain := charset.DetermineEncoding(content[:min(len(content), sniffedBytes)], declared)
	if name == "utf-8" || !certain && utf8.Valid(content) {
		return withoutMark(string(content))
	}
	if !certain && !IsPage(mediaType) { // guessed, as browsers do of pages
		return string(content)
	}
	decoded, err := io.ReadAll(io.LimitReader(encoding.NewDecoder().Reader(bytes.NewReader(content)), 3*int64(len(content))+1))
	if err != nil {
		return string(content)
	}
	return withoutMark(string(decoded))
}

// withoutMark is a text without the mark of its byte order.
func withoutMark(text string) string { return strings.TrimPrefix(text, "\ufeff") }

// Text is what a reader sees of a page in HTML: its title, and its text line by line,
// each link with its address behind it. Relative addresses are made whole by base.
// Scripts, styles, drawings and the like are left out. What a page only hides from the
// eye is shown.
func Text(page string, base *url.URL) (title, text string) {
	t := writer{base: base}
	z := html.NewTokenizer(strings.NewReader(page))
	z.SetMaxBuf(maxTextBytes)
	for !t.full() {
		switch z.Next() {
		case html.ErrorToken:
			return t.end()
		case html.TextToken:
			t.text(string(z.Text()))
		case html.StartTagToken:
			t.start(z.Token(), false)
		case html.SelfClosingTagToken:
			t.start(z.Token(), true)
		case html.EndTagToken:
			t.endOf(z.Token())
		case html.CommentToken, html.DoctypeToken:
		}
	}
	return t.end()
}

// writer makes text of tokens. It needs no tree: the page may be broken in any way, and
// nested as deep as its author likes.
type writer struct {
	base *url.URL

	title   strings.Builder
	body    strings.Builder
	inTitle bool
	silent  []atom.Atom // elements whose content is not shown, that are open
	verbose int         // elements whose white space counts, that are open
	links   []string    // of the links that are open, "" for one without an address
	shown   int         // links
	gap     string      // what stands in front of the next word
}

func (t *writer) full() bool { return t.body.Len() > maxTextBytes }

func (t *writer) end() (title, text string) {
	return strings.Join(strings.Fields(t.title.String()), " "), strings.TrimSpace(t.body.String())
}

func (t *writer) text(s string) {
	switch {
	case t.inTitle:
		t.title.WriteString(s)
	case len(t.silent) > 0:
	case t.verbose > 0:
		t.write(s)
	default:
		words := strings.Fields(s)
		if len(words) == 0 {
			t.space(" ")
			return
		}
		if strings.TrimLeft(s, " \t\r\n\f") != s {
			t.space(" ")
		}
		t.write(strings.Join(words, " "))
		if strings.TrimRight(s, " \t\r\n\f") != s {
			t.space(" ")
		}
	}
}

func (t *writer) write(s string) {
	if t.body.Len() > 0 {
		t.body.WriteString(t.gap)
	}
	t.gap = ""
	t.body.WriteString(s)
}

// space asks for a gap in front of the next word, unless a larger one is asked for.
func (t *writer) space(gap string) {
	lines := strings.Count(gap, "\n") - strings.Count(t.gap, "\n")
	if lines > 0 || lines == 0 && len(gap) > len(t.gap) {
		t.gap = gap
	}
}

func (t *writer) start(tag html.Token, closed bool) {
	if len(t.silent) > 0 || t.inTitle {
		if !closed && isSilent(tag.DataAtom) && len(t.silent) < maxNesting {
			t.silent = append(t.silent, tag.DataAtom)
		}
		return
	}
	t.space(gapOf(tag.DataAtom))
	switch tag.DataAtom {
	case atom.Title:
		t.inTitle = !closed
	case atom.Li:
		t.write("-")
		t.space(" ")
	case atom.Td, atom.Th:
		t.space(" | ") // unless it is the first of its line
	case atom.Pre, atom.Textarea:
		t.verbose++
	case atom.Img:
		if alt := strings.Join(strings.Fields(attribute(tag, "alt")), " "); alt != "" {
			t.write("[image: " + alt + "]")
		}
	case atom.A:
		if len(t.links) < maxNesting {
			t.links = append(t.links, t.address(attribute(tag, "href")))
		}
	default:
		if !closed && isSilent(tag.DataAtom) {
			t.silent = append(t.silent, tag.DataAtom)
		}
	}
}

func (t *writer) endOf(tag html.Token) {
	if n := len(t.silent); n > 0 {
		if t.silent[n-1] == tag.DataAtom {
			t.silent = t.silent[:n-1]
		}
		return
	}
	switch tag.DataAtom {
	case atom.Title:
		t.inTitle = false
		return
	case atom.Pre, atom.Textarea:
		t.verbose = max(0, t.verbose-1)
	case atom.A:
		if n := len(t.links); n > 0 {
			if to := t.links[n-1]; to != "" && t.shown < maxLinks {
				t.shown++
				t.gap = ""
				t.write(" (" + to + ")")
			}
			t.links = t.links[:n-1]
		}
	default:
	}
	t.space(gapOf(tag.DataAtom))
}

// address is where a link leads, if that is another page of the web.
func (t *writer) address(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || strings.HasPrefix(href, "#") || len(href) > MaxURLBytes {
		return ""
	}
	to, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if t.base != nil {
		to = t.base.ResolveReference(to)
	}
	if to.Scheme != "http" && to.Scheme != "https" && to.Scheme != "mailto" {
		return ""
	}
	return to.String()
}

func attribute(tag html.Token, name string) string {
	for _, a := range tag.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// isSilent says whether nobody sees what is in such an element.
func isSilent(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Canvas, atom.Select:
		return true
	default:
		return false
	}
}

// gapOf is what stands around such an element.
func gapOf(a atom.Atom) string {
	switch a {
	case atom.Br, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Option:
		return "\n"
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Pre,
		atom.Blockquote, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside, atom.Form, atom.Hr,
		atom.Figure, atom.Address, atom.Fieldset, atom.Body, atom.Head:
		return "\n\n"
	default:
		return ""
	}
}
