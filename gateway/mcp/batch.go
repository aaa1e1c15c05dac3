package mcp

import (
	"bufio"
	"io"
	"net/http"

	"github.com/everturn/everturn/gateway/problem"
)

// single lets requests of one message through. Older versions of the protocol have many in
// one, and thousands of calls would then count as the one request that a tenant's limits
// see, each of them waiting.
func single(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		if first(body) == '[' {
			problem.Write(w, r, problem.New(problem.CodeBadRequest, "several messages at once: send one after the other"))
			return
		}
		r.Body = opened{body, r.Body}
		h.ServeHTTP(w, r)
	})
}

// first is the first byte that is no space, which stays unread; 0 if there is none, or it
// cannot be read, which whoever reads on is told again.
func first(body *bufio.Reader) byte {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil:
			return 0
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			_ = body.UnreadByte() // there is one
			return b
		}
	}
}

// opened is a body of which a beginning was looked at.
type opened struct {
	io.Reader
	io.Closer
}
