package recordings

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
)

// Delivery is how a server sends a body.
type Delivery struct {
	Body    string
	Status  int
	Headers map[string]string
	Each    int  // bytes that go out together; 0: all
	Abort   bool // the connection breaks after the body
}

// Server answers each request as it was told to.
type Server struct {
	*httptest.Server

	mu         sync.Mutex
	deliveries map[string]Delivery
	count      int
	open       map[net.Conn]struct{}
}

// NewServer starts a server on this machine. Close it.
func NewServer() *Server {
	s := &Server{deliveries: make(map[string]Delivery), open: make(map[net.Conn]struct{})}
	s.Server = httptest.NewUnstartedServer(s)
	s.Server.Config.ConnState = s.connection
	s.Server.Start()
	return s
}

func (s *Server) connection(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.open, c)
	case http.StateActive, http.StateIdle:
	}
}

// Open is the number of connections that are open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Offer makes a delivery available once, at the URL that it returns.
func (s *Server) Offer(d Delivery) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	name := strconv.Itoa(s.count)
	s.deliveries[name] = d
	return s.URL + "/" + name
}

func (s *Server) take(path string) (Delivery, bool) {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.deliveries[name]
	delete(s.deliveries, name)
	return d, ok
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, ok := s.take(r.URL.Path)
	if !ok {
		http.Error(w, "nothing is offered here", http.StatusTeapot)
		return
	}
	for name, value := range d.Headers {
		if !strings.EqualFold(name, "Content-Length") && !strings.EqualFold(name, "Content-Encoding") {
			w.Header().Set(name, value)
		}
	}
	if d.Status == http.StatusOK && w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(d.Status)
	flush := http.NewResponseController(w).Flush
	for rest := d.Body; rest != ""; {
		n := len(rest)
		if d.Each > 0 {
			n = min(n, d.Each)
		}
		if _, err := w.Write([]byte(rest[:n])); err != nil {
			return
		}
		if flush() != nil {
			return
		}
		rest = rest[n:]
	}
	if d.Abort {
		panic(http.ErrAbortHandler)
	}
}
