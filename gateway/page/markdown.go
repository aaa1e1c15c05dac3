package page

import (
	"bytes"
	"html/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// headingOffset puts the headings of an answer below those of the page.
const headingOffset = 2

// maxHeading is the deepest heading that HTML has.
const maxHeading = 6

// writer turns Markdown into HTML. HTML in the text is left out; so are pictures,
// which would tell another site who reads: their addresses become links.
var writer = goldmark.New(
	goldmark.WithExtensions(
		extension.Strikethrough, extension.NewLinkify(),
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
	),
	goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(calm{}, 1000))),
	goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(plainHTML{}, 1))),
)

// markdown is the text of a model as HTML. What would take too long to read as
// Markdown stays the text that it is.
func markdown(source string) template.HTML {
	var b bytes.Buffer
	if tangled(source) || writer.Convert([]byte(source), &b) != nil {
		return template.HTML("<p class=\"text\">" + template.HTMLEscapeString(source) + "</p>")
	}
	return template.HTML(b.String()) // the writer escapes, and lets no HTML through
}

// calm changes what would not fit into a page.
type calm struct{}

// Transform implements [parser.ASTTransformer].
func (calm) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	var images []*ast.Image
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+headingOffset, maxHeading)
		case *ast.Link:
			foreign(n)
		case *ast.AutoLink:
			foreign(n)
		case *ast.Image:
			images = append(images, n)
		}
		return ast.WalkContinue, nil
	})
	for _, image := range images {
		link := ast.NewLink()
		link.Destination, link.Title = image.Destination, image.Title
		for child := image.FirstChild(); child != nil; {
			next := child.NextSibling()
			link.AppendChild(link, child)
			child = next
		}
		if !link.HasChildren() {
			link.AppendChild(link, ast.NewString([]byte("image")))
		}
		foreign(link)
		// A picture inside of a link is a link already.
		if inside(image) {
			for child := link.FirstChild(); child != nil; {
				next := child.NextSibling()
				image.Parent().InsertBefore(image.Parent(), image, child)
				child = next
			}
			image.Parent().RemoveChild(image.Parent(), image)
			continue
		}
		image.Parent().ReplaceChild(image.Parent(), image, link)
	}
}

// inside reports whether a node is part of a link.
func inside(n ast.Node) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink {
			return true
		}
	}
	return false
}

// foreign says of a link that it leads elsewhere.
func foreign(n ast.Node) {
	n.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
	n.SetAttributeString("target", []byte("_blank"))
}

// plainHTML shows HTML as the text that it is.
type plainHTML struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (plainHTML) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			writeLines(w, source, n.(*ast.RawHTML).Segments)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		block := n.(*ast.HTMLBlock)
		if !entering {
			if block.HasClosure() {
				_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(source)))
			}
			_, _ = w.WriteString("</code></pre>\n")
			return ast.WalkContinue, nil
		}
		_, _ = w.WriteString("<pre tabindex=\"0\"><code>")
		writeLines(w, source, block.Lines())
		return ast.WalkContinue, nil
	})
	code := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<pre tabindex=\"0\"><code>") // it may scroll, so a keyboard must reach it
			writeLines(w, source, n.Lines())
			_, _ = w.WriteString("</code></pre>\n")
		}
		return ast.WalkSkipChildren, nil
	}
	r.Register(ast.KindCodeBlock, code)
	r.Register(ast.KindFencedCodeBlock, code)
}

func writeLines(w util.BufWriter, source []byte, lines *text.Segments) {
	for i := range lines.Len() {
		line := lines.At(i)
		_, _ = w.Write(util.EscapeHTML(line.Value(source)))
	}
}
