package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/everturn/everturn/toolrunner/web"
)

// serve is a real server on loopback, and its address as host:port.
func serve(t *testing.T, handle http.HandlerFunc) (s *httptest.Server, at string) {
	t.Helper()
	s = httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s, s.Listener.Addr().String()
}

func getter(t *testing.T, change func(*web.Config), allow ...string) *web.Getter {
	t.Helper()
	allowed, err := web.ParseAllowed(allow)
	if err != nil {
		t.Fatal(err)
	}
	cfg := web.Config{Allowed: allowed, Time: 20 * time.Second}
	if change != nil {
		change(&cfg)
	}
	return web.NewGetter(cfg)
}

// names is a real name server on loopback, which answers each question with what answer
// says to the n-th one.
func names(t *testing.T, answer func(name string, n int) []net.IP) *net.Resolver {
	t.Helper()
	var listening net.ListenConfig
	socket, err := listening.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 1500)
		for n := 0; ; {
			size, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			var asked dnsmessage.Message
			if asked.Unpack(buffer[:size]) != nil || len(asked.Questions) == 0 {
				continue
			}
			q := asked.Questions[0]
			told := dnsmessage.Message{
				Header:    dnsmessage.Header{ID: asked.ID, Response: true, RecursionAvailable: true},
				Questions: asked.Questions[:1],
			}
			if q.Type == dnsmessage.TypeA {
				for _, ip := range answer(strings.TrimSuffix(q.Name.String(), "."), n) {
					told.Answers = append(told.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
						Body:   &dnsmessage.AResource{A: [4]byte(ip.To4())},
					})
				}
				n++
			}
			if packed, err := told.Pack(); err == nil {
				_, _ = socket.WriteTo(packed, from) // who does not hear it asks again
			}
		}
	}()
	t.Cleanup(func() { _ = socket.Close(); <-ended })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "Text/HTML; charset=ISO-8859-1")
		fmt.Fprintf(w, "%s %s %s %s cookie=%q proxy=%q referer=%q", r.Method, r.URL, r.UserAgent(), r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("Proxy-Connection"), r.Referer())
	})
	p, err := getter(t, nil, at).Get(t.Context(), " "+s.URL+"/a?b=c#d ")
	if err != nil {
		t.Fatal(err)
	}
	if p.URL != s.URL+"/a?b=c" || p.Status != 200 || p.MediaType != "text/html" || p.Charset != "ISO-8859-1" || p.Truncated || p.Broken {
		t.Errorf("got %+v", p)
	}
	if want := `GET /a?b=c Everturn (fetch_url)  cookie="" proxy="" referer=""`; string(p.Content) != want {
		t.Errorf("the server was asked %q, want %q", p.Content, want)
	}
}

func TestNothingPrivateIsAskedUnlessAllowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	_, at := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	private := names(t, func(string, int) []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} })
	g := getter(t, func(c *web.Config) { c.Resolver = private }, "127.0.0.1:1")
	for _, host := range []string{
		"127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"0.0.0.0", "[::]", "rebind.example", "127.0.0.1.nip.example", "LOCALHOST.", "169.254.169.254", "[fe80::1]", "[64:ff9b::7f00:1]", "10.0.0.1", "100.100.100.200",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if p, err := g.Get(ctx, "http://"+host+":"+port+"/"); err == nil {
			t.Errorf("%s was asked: %+v", host, p)
		} else if strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: the error says where it leads: %v", host, err)
		}
		cancel()
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests came", n)
	}
}

// A name is judged by what it leads to when the connection is made, each time.
func TestANameThatLeadsElsewhereTheNextTime(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	_, at := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); _, _ = io.WriteString(w, "inside") })
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	turns := names(t, func(_ string, n int) []net.IP { return []net.IP{net.IPv4(127, 0, 0, byte(1+n%2))} })
	g := getter(t, func(c *web.Config) { c.Resolver = turns }, at)
	for i := range 6 {
		_, err := g.Get(t.Context(), "http://rebind.example:"+port+"/")
		if away := i%2 == 1; away != errors.Is(err, web.ErrAddress) {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
	if n := asked.Load(); n != 3 {
		t.Errorf("%d requests came, want 3", n)
	}
}

func TestANameMayBeAllowedWhateverItLeadsTo(t *testing.T) {
	t.Parallel()
	_, at := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	private := names(t, func(string, int) []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} })
	g := getter(t, func(c *web.Config) { c.Resolver = private }, "wiki.example:"+port)
	if _, err := g.Get(t.Context(), "http://Wiki.example:"+port+"/"); err != nil {
		t.Error(err)
	}
	if _, err := g.Get(t.Context(), "http://other.example:"+port+"/"); !errors.Is(err, web.ErrAddress) {
		t.Errorf("another one: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var secret atomic.Int32
	_, inside := serve(t, func(http.ResponseWriter, *http.Request) { secret.Add(1) })
	_, port, err := net.SplitHostPort(inside)
	if err != nil {
		t.Fatal(err)
	}
	s, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/loop/%d", &n); err == nil && n > 0 {
			to = fmt.Sprintf("/loop/%d", n-1)
		}
		if r.URL.Path == "/long" {
			to = "/" + strings.Repeat("x", web.MaxURLBytes)
		}
		if to == "" {
			fmt.Fprintf(w, "here, referer=%q", r.Referer())
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
	private := names(t, func(string, int) []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} })
	g := getter(t, func(c *web.Config) { c.Resolver = private }, at)
	for _, tt := range []struct{ name, path, says string }{
		{"to another page", "/?to=/there", ""},
		{"as often as may be", "/loop/5", ""},
		{"too often", "/loop/6", "more than 5 redirects"},
		{"in a circle", "/?to=" + url.QueryEscape("/loop/1000"), "more than 5 redirects"},
		{"to a private address", "/?to=" + url.QueryEscape("http://"+inside+"/"), "must not be asked"},
		{"to a name of one", "/?to=" + url.QueryEscape("http://inside.example:"+port+"/"), "must not be asked"},
		{"to metadata", "/?to=" + url.QueryEscape("http://169.254.169.254/latest/meta-data/"), "must not be asked"},
		{"to a file", "/?to=file:///etc/passwd", `"file" addresses are not fetched`},
		{"to another protocol", "/?to=gopher://127.0.0.1:" + port + "/x", `"gopher" addresses are not fetched`},
		{"with a password", "/?to=" + url.QueryEscape("http://a:b@"+at+"/"), "a password in it is not fetched"},
		{"to a long address", "/long", "to an address of more than 8192 bytes"},
		{"to nothing", "/?to=http://", "names no host"},
	} {
		p, err := g.Get(t.Context(), s.URL+tt.path)
		switch {
		case tt.says == "" && (err != nil || string(p.Content) != `here, referer=""`):
			t.Errorf("%s: %q, %v", tt.name, p.Content, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if n := secret.Load(); n > 0 {
		t.Errorf("%d requests came where none may", n)
	}
}

func TestAddressesThatAreNotAsked(t *testing.T) {
	t.Parallel()
	g := getter(t, nil)
	for address, says := range map[string]string{
		"":                                 "addresses are not fetched",
		"example.com":                      "addresses are not fetched",
		"file:///etc/passwd":               `"file" addresses are not fetched`,
		"ftp://example.com/":               `"ftp" addresses are not fetched`,
		"data:text/html,x":                 `"data" addresses are not fetched`,
		"unix:///var/run/docker.sock":      `"unix" addresses are not fetched`,
		"http://":                          "names no host",
		"http:///etc/passwd":               "names no host",
		"http:127.0.0.1":                   "names no host",
		"http://user:password@example.com": "a password in it is not fetched",
		"http://token@example.com":         "a password in it is not fetched",
		"http://[fe80::1%25eth0]/":         "names a host that there cannot be",
		"http://exa mple.com/":             "this is no address",
		"http://example.com:99999/":        "",
		"http://a\x00b/":                   "this is no address",
		"http://a\r\nHost: b/":             "this is no address",
		"http://example.com/" + strings.Repeat("x", 8<<10): "at most 8192 are allowed",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if _, err := g.Get(ctx, address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v", address, err)
		}
		cancel()
	}
}

func TestWhatServersDo(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for range 100 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	raw := func(answer string) http.HandlerFunc { // as it is, and then the connection ends
		return func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, answer)
			_ = connection.Close()
		}
	}
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		says   string // the error; empty if there is a page
		want   func(web.Page) bool
	}{
		{"not found", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotFound) }, "", func(p web.Page) bool { return p.Status == 404 && string(p.Content) == "no\n" }},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "", func(p web.Page) bool { return p.Status == 204 && len(p.Content) == 0 }},
		{"without a type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "<html>x")
		}, "", func(p web.Page) bool { return p.MediaType == "text/html" }},
		{"a type that is none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", ";;=/")
			_, _ = io.WriteString(w, "x")
		}, "", func(p web.Page) bool { return p.MediaType == "text/plain" }},
		{"more than is kept", func(w http.ResponseWriter, _ *http.Request) {
			for range 6 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, "", func(p web.Page) bool { return p.Truncated && len(p.Content) == web.MaxPageBytes }},
		{"exactly what is kept", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, web.MaxPageBytes)) }, "", func(p web.Page) bool { return !p.Truncated && len(p.Content) == web.MaxPageBytes }},
		{"no end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 64<<10))
			}
		}, "", func(p web.Page) bool { return p.Truncated }},
		{"100 MiB in 100 KiB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		}, "", func(p web.Page) bool { return p.Truncated && len(p.Content) == web.MaxPageBytes }},
		{"broken gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "no gzip at all")
		}, "broke off before there was any content", nil},
		{"less than it said", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"), "", func(p web.Page) bool { return p.Broken && string(p.Content) == "short" }},
		{"more than it said", raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nshort"), "", func(p web.Page) bool { return !p.Broken && string(p.Content) == "sh" }},
		{"a length that is none", raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nshort"), "Content-Length", nil},
		{"two lengths", raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nshort"), "Content-Length", nil},
		{"no HTTP", raw("SSH-2.0-OpenSSH_9.6\r\n"), "malformed HTTP", nil},
		{"nothing at all", raw(""), "EOF", nil},
		{"many headers", raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 200) + "\r\n"), "headers exceeded", nil},
		{"early hints without end", raw(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10_000)), "headers exceeded", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, at := serve(t, tt.handle)
			p, err := getter(t, nil, at).Get(t.Context(), s.URL)
			switch {
			case tt.want != nil && (err != nil || !tt.want(p)):
				t.Errorf("status %d, %s, %d bytes, truncated %v, broken %v, %v", p.Status, p.MediaType, len(p.Content), p.Truncated, p.Broken, err)
			case tt.want == nil && (err == nil || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("error: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), at) {
				t.Errorf("the error names an address: %v", err)
			}
		})
	}
}

// A server that takes its time takes no more than it has, wherever it takes it.
func TestSlowServersHaveATime(t *testing.T) {
	t.Parallel()
	slowly := func(first string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, first)
			if first != "" {
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		}
	}
	for _, first := range []string{"", "a beginning"} {
		s, at := serve(t, slowly(first))
		g := getter(t, func(c *web.Config) { c.Time = 300 * time.Millisecond }, at)
		began := time.Now()
		p, err := g.Get(t.Context(), s.URL)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("after %q it took %v", first, took)
		}
		if first == "" && (err == nil || !strings.Contains(err.Error(), "the time for it is over")) {
			t.Errorf("without a word: %v", err)
		}
		if first != "" && (err != nil || !p.Broken || string(p.Content) != first) {
			t.Errorf("in the middle: %+v, %v", p, err)
		}
	}
	switches, switching := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\nhello")
		_ = connection.SetReadDeadline(time.Now().Add(30 * time.Second))
		_, _ = connection.Read(make([]byte, 1)) // until it is hung up
	})
	began := time.Now()
	_, err := getter(t, func(c *web.Config) { c.Time = 300 * time.Millisecond }, switching).Get(t.Context(), switches.URL)
	if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "another protocol") || took > 10*time.Second {
		t.Errorf("of another protocol: %v after %v", err, took)
	}
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	g := getter(t, func(c *web.Config) { c.Time = 300 * time.Millisecond }, deaf.Addr().String())
	for _, scheme := range []string{"http://", "https://"} {
		if _, err := g.Get(t.Context(), scheme+deaf.Addr().String()); err == nil || !strings.Contains(err.Error(), "the time for it is over") {
			t.Errorf("%s: %v", scheme, err)
		}
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(io.ErrClosedPipe)
	if _, err := g.Get(stopped, "http://"+deaf.Addr().String()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("when it is not wanted any more: %v", err)
	}
}

func TestCertificatesAreLookedAt(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // it tells of who hangs up
	s.StartTLS()
	defer s.Close()
	at := s.Listener.Addr().String()
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	known.AddCert(s.Certificate())
	private := names(t, func(string, int) []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} })
	if _, err := getter(t, nil, at).Get(t.Context(), s.URL); err == nil || !strings.Contains(err.Error(), "its certificate is not trusted") {
		t.Errorf("signed by nobody: %v", err)
	}
	g := getter(t, func(c *web.Config) { c.Roots, c.Resolver = known, private }, at)
	if _, err := g.Get(t.Context(), "https://other.test:"+port); err == nil || !strings.Contains(err.Error(), "its certificate is not trusted") {
		t.Errorf("of another name: %v", err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests came", n)
	}
	if _, err := g.Get(t.Context(), s.URL); err != nil {
		t.Errorf("of a known one: %v", err)
	}
	plain, open := serve(t, func(http.ResponseWriter, *http.Request) {})
	if _, err := getter(t, nil, open).Get(t.Context(), strings.Replace(plain.URL, "http:", "https:", 1)); err == nil || !strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		t.Errorf("without TLS: %v", err)
	}
	if p, err := g.Get(t.Context(), "http://"+at); err == nil && p.Status != http.StatusBadRequest {
		t.Errorf("of TLS without it: %+v", p)
	}
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	var asked atomic.Int32
	proxy, _ := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	s, at := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "straight") })
	private := names(t, func(string, int) []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} })
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	g := getter(t, func(c *web.Config) { c.Resolver = private }, at)
	if p, err := g.Get(t.Context(), "http://some.example:"+port); err != nil || string(p.Content) != "straight" {
		t.Errorf("%s: %q, %v", s.URL, p.Content, err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the proxy was asked %d times", n)
	}
}
