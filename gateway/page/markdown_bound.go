package page

import "strings"

// A reader of Markdown takes time that grows with the square of some things, so a text
// of a few KiB could keep a gateway busy for minutes, each time that it is shown. Nobody
// writes as much of them as these bounds say.
const (
	maxMarkdownBytes = 256 << 10
	maxBlockMarks    = 2_000  // characters between two empty lines that may mean something
	maxLineMarks     = 100    // quotes, items and cells that begin on one line
	maxTableCells    = 20_000 // columns of the widest line by the lines of its block
)

// tangled reports whether a text takes too long to be read as Markdown.
func tangled(source string) bool {
	if len(source) > maxMarkdownBytes {
		return true
	}
	var block struct{ marks, lines, columns int }
	for line := range strings.Lines(source) {
		if strings.TrimSpace(line) == "" {
			block.marks, block.lines, block.columns = 0, 0, 0
			continue
		}
		begun, columns := beginnings(line), strings.Count(line, "|")
		block.marks += marks(line)
		block.lines++
		block.columns = max(block.columns, columns)
		if begun > maxLineMarks || block.marks > maxBlockMarks || block.columns*block.lines > maxTableCells {
			return true
		}
	}
	return false
}

// marks is how many characters of a line could begin or end something inside of it.
func marks(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case '*', '_', '~', '[', ']', '<', '!', '`':
			n++
		}
	}
	return n
}

// beginnings is how many quotes and items could begin on a line, one inside the other.
func beginnings(line string) int {
	n, item := 0, false
	for i := range len(line) {
		switch c := line[i]; {
		case c == '>':
			n++
		case c == '-' || c == '+' || c == '*' || c == '.' || c == ')':
			item = true
			continue
		case (c == ' ' || c == '\t') && item:
			n++
		case c == ' ' || c == '\t' || c >= '0' && c <= '9':
		default:
			return n
		}
		item = false
	}
	return n
}
