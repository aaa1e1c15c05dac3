package page

import (
	"regexp"
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, given, then string }{
		{"text is a paragraph", "a *b* **c**", "<p>a <em>b</em> <strong>c</strong></p>\n"},
		{"HTML in a line is shown as the text that it is", "a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n"},
		{"a block of HTML is shown as the text that it is", "<script>\nx\n</script>", "<pre tabindex=\"0\"><code>&lt;script&gt;\nx\n&lt;/script&gt;</code></pre>\n"},
		{"a script is no link", "[x](javascript:alert(1))", "<p><a href=\"\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">x</a></p>\n"},
		{"a link leads elsewhere", "[x](https://example.org/)", "<p><a href=\"https://example.org/\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">x</a></p>\n"},
		{"a picture is a link: looking at it would tell who reads", "![x](https://example.org/y.png)", "<p><a href=\"https://example.org/y.png\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">x</a></p>\n"},
		{"a picture without a word has one", "![](y.png)", "<p><a href=\"y.png\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">image</a></p>\n"},
		{"a picture in a link stays one link", "[![x](y.png)](https://example.org/)", "<p><a href=\"https://example.org/\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">x</a></p>\n"},
		{"headings stand below those of the page", "# a", "<h3>a</h3>\n"},
		{"no heading is deeper than HTML has them", "###### a", "<h6>a</h6>\n"},
		{"code can be reached with a keyboard", "```go\nx < y\n```", "<pre tabindex=\"0\"><code>x &lt; y\n</code></pre>\n"},
		{"lines stay lines", "a\nb", "<p>a<br>\nb</p>\n"},
		{"cells have no style", "|a|\n|:-:|\n|b|", "<table>\n<thead>\n<tr>\n<th align=\"center\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"center\">b</td>\n</tr>\n</tbody>\n</table>\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(markdown(tt.given)); got != tt.then {
				t.Errorf("got  %q\nwant %q", got, tt.then)
			}
		})
	}
}

// What may stand between angle brackets in what Markdown becomes.
var (
	tag     = regexp.MustCompile(`<[^>]*>`)
	allowed = regexp.MustCompile(`^</?(p|em|strong|del|h[3-6]|ul|ol|li|blockquote|hr|br|pre|code|table|thead|tbody|tr|th|td|a)( (tabindex="0"|start="\d+"|align="(left|center|right)"|href="[^"<>]*"|title="[^"<>]*"|rel="noopener noreferrer nofollow"|target="_blank"))*>$`)
)

// FuzzMarkdown: whatever a model says, no tag comes out that is not one of a few, and
// no link that runs anything.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"<script>alert(1)</script>", "[a](javascript:x)", "![a](data:text/html;base64,eA==)", "<a href='x' onclick=y>", "<!-- x -->",
		"[a]: javascript:x\n[a]", "<javascript:x>", "<https://example.org>", "www.example.org\"onload=x", "|<b>|\n|-|\n|`<i>`|",
		"[x](<\" onmouseover=alert(1) \">)", "```\"><script>\nx\n```", "1000. a", "~~a~~", "&lt;script&gt;", "<![CDATA[x]]>", "<?php x ?>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		html := string(markdown(source))
		for _, found := range tag.FindAllString(html, -1) {
			if !allowed.MatchString(found) {
				t.Errorf("%q came to a tag %q", source, found)
			}
		}
		for _, href := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(html, -1) {
			lower := strings.ToLower(href[1])
			for _, scheme := range []string{"javascript:", "vbscript:", "data:text"} {
				if strings.HasPrefix(lower, scheme) {
					t.Errorf("%q came to a link %q", source, href[1])
				}
			}
		}
	})
}
