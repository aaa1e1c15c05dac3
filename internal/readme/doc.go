// Package readme reads a page of documentation as somebody who tries it out: it
// knows which blocks are typed into which terminal, and what the page says they
// show. Its tests type every block of README.md, in order, and compare.
//
// What a reader does not see stands in comments right above a block:
//
//	<!-- not run: why -->         nobody types this block
//	<!-- terminal: dev -->        typed into the terminal of that name, not the first
//	<!-- terminal: dev, stays --> its last command does not end by itself
//	<!-- shows: dev -->           what that terminal shows now of what was typed before
//	<!-- ctrl-c: dev -->          the keys that end what runs there; no block follows
//
// A block in the language sh is typed. A text block that follows one is what it
// shows. Ids, times and ports in it stand for any other; … stands for anything
// on a line, and on a line of its own for any lines.
package readme
