// Package listing is what the queries across chats ask and answer: lists of chats,
// search, usage, and what waits for somebody. A projection with a store answers them;
// clients read them. The tenant is that of the query's subject.
package listing
