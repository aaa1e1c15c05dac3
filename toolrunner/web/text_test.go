package web_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner/web"
)

func TestTextOfAPage(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("https://example.com/a/b?c")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, page, title, text string }{
		{"title and paragraphs", "<title> A\n  page </title><h1>One</h1><p>two\n three</p><p>four", "A page", "One\n\ntwo three\n\nfour"},
		{"links are kept", `see <a href="../x?y=1#z">the manual</a>, <a href="https://other.example/">there</a>.`, "", "see the manual (https://example.com/x?y=1#z), there (https://other.example/)."},
		{"links to nowhere are not", `<a href="#top">up</a> <a href="javascript:alert(1)">x</a> <a>y</a> <a href="data:text/html,z">z</a>`, "", "up x y z"},
		{"scripts and styles are dropped", `a<script>var x = "<p>no</p>"</script><style>p{}</style><noscript>no</noscript><template>no</template><svg><text>no</text></svg>b`, "", "ab"},
		{"lists", "<ul><li>one<li>two</ul>", "", "- one\n- two"},
		{"tables", "<table><tr><td>a</td><td>b</td></tr><tr><th>c</th> <td>d</td></tr></table>", "", "a | b\nc | d"},
		{"preformatted", "<pre>a\n  b</pre>c", "", "a\n  b\n\nc"},
		{"entities", "&lt;b&gt; &amp;amp; &eacute; &#128578;", "", "<b> &amp; é 🙂"},
		{"images by their words", `<img src=x alt="a cat"><img src=y>`, "", "[image: a cat]"},
		{"comments", "a<!-- no -->b<![CDATA[no]]>", "", "ab"},
		{"broken", "<p><b>a</i></p></div></a></pre><td>b<", "", "a\n\nb<"},
		{"an open script", "a<script>b", "", "a"},
		{"nothing", "", "", ""},
		{"inline elements do not part a word", "un<b>believ</b>able", "", "unbelievable"},
	} {
		title, text := web.Text(tt.page, base)
		if title != tt.title || text != tt.text {
			t.Errorf("%s: got title %q, text %q, want %q, %q", tt.name, title, text, tt.title, tt.text)
		}
	}
}

// Whatever a page is nested and repeated like, it takes time in proportion to it.
func TestOddPagesTakeNoTime(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"deep":              strings.Repeat("<div>", 900_000),
		"links in links":    strings.Repeat("<a href=x>", 400_000) + strings.Repeat("</a>", 100_000),
		"a long line":       strings.Repeat("x", 4<<20),
		"drawings":          strings.Repeat("<svg>", 800_000),
		"one attribute":     `<a href="` + strings.Repeat("y", 4<<20) + `">z`,
		"many attributes":   "<p " + strings.Repeat("a=b ", 1_000_000) + ">z",
		"less than":         strings.Repeat("<", 4<<20),
		"entities":          strings.Repeat("&lt;", 1<<20),
		"an endless script": "<script>" + strings.Repeat("</scrip", 600_000),
	} {
		began := time.Now()
		_, text := web.Text(page, nil)
		if took := time.Since(began); took > 20*time.Second || len(text) > 9<<20 {
			t.Errorf("%s: %d bytes after %v", name, len(text), took)
		}
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, media, said, want string }{
		{"UTF-8", "Grüße", "text/plain", "utf-8", "Grüße"},
		{"nothing said", "Grüße", "text/plain", "", "Grüße"},
		{"nothing said of a page, far behind", strings.Repeat(" ", 2000) + "Grüße", "text/html", "", strings.Repeat(" ", 2000) + "Grüße"},
		{"as the server says", "Gr\xfc\xdfe", "text/plain", "ISO-8859-1", "Grüße"},
		{"as the page says", "<meta charset=windows-1251>\xcf\xf0\xe8\xe2\xe5\xf2", "text/html", "", "<meta charset=windows-1251>Привет"},
		{"as it begins", "\xff\xfeG\x00r\x00\xfc\x00", "text/plain", "", "Grü"},
		{"a mark in front", "\ufeffGrüße", "text/plain", "", "Grüße"},
		{"Japanese", "\x82\xb1\x82\xf1", "text/html", "shift_jis", "こん"},
		{"unknown, of a page", "Gr\xfc\xdfe", "text/html", "no-such", "Grüße"},
		{"unknown, of a text", "Gr\xfc\xdfe", "text/plain", "", "Gr\xfc\xdfe"},
	} {
		if got := web.Decode([]byte(tt.content), tt.media, tt.said); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
