// Package gateway lets programs and people who speak HTTP use chats: a JSON API,
// what happens as server-sent events, the API of OpenAI, and a page for browsers.
//
// It decides nothing and keeps nothing: what it is asked becomes a command or a
// query, as from any other client. So any number of gateways may run, and one that
// is killed costs its clients a reconnect. Each way in is a package of its own
// below this one; here they are put together behind one door, which says who is
// asking.
package gateway
