// Package page is the gateway's page for people: their chats, one chat live, and
// what happened in it, commit by commit.
//
// The server writes HTML, and goes on writing it over server-sent events while a
// chat lives; htmx in the browser puts it into place. So there is one fold of a log,
// the one in Go, and nothing is built. Without a script the page can be read, and
// commands can be sent: one looks again oneself.
//
// What the page shows is the word of others: people, models, tools. All of it is
// escaped by html/template; the text of models is Markdown without any HTML in it.
package page
