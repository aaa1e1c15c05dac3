// Package embedded runs a NATS server inside the process: for `everturn run`,
// `dev` and `server`, and for tests. The service binaries talk to a server of
// their own and must not link this one.
package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/bcrypt"
)

const (
	defaultHost  = "127.0.0.1"
	defaultUser  = "everturn"
	defaultReady = 30 * time.Second // a big store takes a while to recover
	readyPoll    = 50 * time.Millisecond
	stopWait     = 30 * time.Second // a big store takes a while to be written out
)

// ErrPortTaken means that something else listens on the address.
var ErrPortTaken = errors.New("port is taken")

// Options say how the server runs.
type Options struct {
	// Store is the directory of its data, made if it is not there. Only one
	// server at a time may have it; see [ErrStoreInUse]. With a ConfigFile it
	// may be empty: then it is what the file says.
	Store string

	// Host and Port to listen on: by default the loopback address and, with
	// port 0, a free port. With a ConfigFile zero values mean what the file says.
	Host string
	Port int

	// InProcess means that nobody listens: only this process can connect.
	InProcess bool

	// ConfigFile is a server configuration in NATS's own format.
	ConfigFile string

	// Configure changes the server's options last, just before it is made.
	Configure func(*server.Options)

	// User and Password are what clients need. Without a password one is
	// generated. They count only while nothing else says who may connect.
	User     string
	Password string

	// Logger gets the server's warnings and errors; the rest at debug level.
	// Default: nothing is logged.
	Logger *slog.Logger

	// Ready is how long starting may take. Default 30 s.
	Ready time.Duration
}

// Server is a running server.
type Server struct {
	nats     *server.Server
	lock     *os.File
	store    string
	user     string
	password string
	close    sync.Once
}

// Start runs a server and returns when clients can connect. Stop it with
// [Server.Close]. Every write is synced to disk before it is acknowledged,
// unless the configuration file says otherwise.
func Start(ctx context.Context, o Options) (*Server, error) {
	so, err := o.server()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	lock, err := lockStore(so.StoreDir)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s, err := start(ctx, so, o)
	if err != nil {
		return nil, fmt.Errorf("server: %w", errors.Join(err, lock.Close()))
	}
	s.lock, s.store = lock, so.StoreDir
	return s, nil
}

// Store is the directory of the server's data. Whoever keeps something beside it keeps
// it in a folder of its own.
func (s *Server) Store() string { return s.store }

func start(ctx context.Context, so *server.Options, o Options) (*Server, error) {
	s := &Server{}
	if open(so) {
		so.Username, so.Password = o.User, o.Password
		if so.Username == "" {
			so.Username = defaultUser
		}
		if so.Password == "" {
			so.Password = rand.Text()
		}
	}
	s.user, s.password = so.Username, so.Password
	if err := hash(so); err != nil {
		return nil, err
	}
	if err := probe(ctx, so); err != nil {
		return nil, err
	}
	ns, err := server.NewServer(so)
	if err != nil {
		return nil, err
	}
	s.nats = ns
	log := &serverLog{to: o.Logger, fatal: make(chan string, 1)}
	if log.to == nil {
		log.to = slog.New(slog.DiscardHandler)
	}
	ns.SetLoggerV2(log, false, false, false)
	ns.Start()
	if err := ready(ctx, ns, log, o.Ready); err != nil {
		return nil, errors.Join(err, stop(ns))
	}
	return s, nil
}

// hash has the server keep only a hash of the password. It is the cheapest one:
// what is hashed here is random and long, or the caller's to choose well.
func hash(so *server.Options) error {
	if so.Password == "" || strings.HasPrefix(so.Password, "$2") {
		return nil
	}
	hashed, err := bcrypt.GenerateFromPassword([]byte(so.Password), bcrypt.MinCost)
	if err != nil {
		return fmt.Errorf("password: %w", err)
	}
	so.Password = string(hashed)
	return nil
}

// ready waits until clients can connect or it is clear that they never will.
func ready(ctx context.Context, ns *server.Server, log *serverLog, limit time.Duration) error {
	if limit <= 0 {
		limit = defaultReady
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready after %s", limit))
	defer cancel()
	for {
		select {
		case why := <-log.fatal:
			return errors.New(why)
		default:
		}
		if ns.ReadyForConnections(readyPoll) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// server turns the options into the server's own.
func (o Options) server() (*server.Options, error) {
	so := &server.Options{}
	if o.ConfigFile != "" {
		var err error
		if so, err = server.ProcessConfigFile(o.ConfigFile); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", o.ConfigFile, err)
		}
	}
	if o.Store != "" {
		so.StoreDir = o.Store
	}
	if o.Host != "" {
		so.Host = o.Host
	}
	if so.Host == "" {
		so.Host = defaultHost
	}
	if o.Port != 0 {
		so.Port = o.Port
	}
	if so.Port == 0 {
		so.Port = server.RANDOM_PORT
	}
	if !so.SyncAlways && so.SyncInterval == 0 {
		so.SyncAlways = true
	}
	so.JetStream = true
	so.DontListen = so.DontListen || o.InProcess
	so.NoSigs = true // signals belong to the process
	so.NoLog = true  // the logger is set by hand
	if o.Configure != nil {
		o.Configure(so)
	}
	if so.StoreDir == "" {
		return nil, errors.New("no directory for the store")
	}
	dir, err := filepath.Abs(so.StoreDir)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	so.StoreDir = dir
	return so, nil
}

// open reports whether nothing says who may connect.
func open(so *server.Options) bool {
	return so.Username == "" && so.Authorization == "" &&
		len(so.Users) == 0 && len(so.Nkeys) == 0 && len(so.Accounts) == 0 &&
		len(so.TrustedOperators) == 0 && len(so.TrustedKeys) == 0 &&
		so.AuthCallout == nil && so.CustomClientAuthentication == nil
}

// probe says clearly what the server itself would only log.
func probe(ctx context.Context, so *server.Options) error {
	if so.DontListen {
		return nil
	}
	address := net.JoinHostPort(so.Host, strconv.Itoa(max(so.Port, 0)))
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: %s: stop what listens there or choose another port", ErrPortTaken, address)
	case err != nil:
		return fmt.Errorf("listen: %w", err)
	}
	return l.Close()
}

// URL is where clients connect, without credentials; empty if nobody listens.
func (s *Server) URL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return s.nats.ClientURL()
}

// Credentials are what clients need; empty if a configuration says who may
// connect in another way.
func (s *Server) Credentials() (user, password string) { return s.user, s.password }

// Connect gives a connection inside the process, without the network. Options
// may name another user than [Server.Credentials]; wrong credentials show after
// ten seconds only, as a closed pipe, so whoever tests those dials the URL.
func (s *Server) Connect(name string, opts ...nats.Option) (*nats.Conn, error) {
	base := []nats.Option{
		nats.Name(name),
		nats.InProcessServer(s.nats),
		nats.MaxReconnects(-1),
	}
	if s.user != "" {
		base = append(base, nats.UserInfo(s.user, s.password))
	}
	nc, err := nats.Connect("", append(base, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connect in process: %w", err)
	}
	return nc, nil
}

// Close stops the server and waits until it has: then the store is complete on
// disk and free for the next. It may be called more than once; each call waits.
//
// [ErrStuck] means that the server does not come to its end. The process should then:
// the store is its own until it does.
func (s *Server) Close() error {
	var err error
	s.close.Do(func() {
		if err = stop(s.nats); err == nil {
			err = s.lock.Close()
		}
	})
	return err
}

// ErrStuck means that the server did not stop in time. One that could not write to its
// disk can wait for itself for ever. Nothing that it has stored is lost with it.
var ErrStuck = errors.New("the NATS server does not stop, which happens when it could not write to its disk; " +
	"it is left to the end of this process, and what is stored stays: make room before the next start")

// stoppable is the end of a server.
type stoppable interface {
	Shutdown()
	WaitForShutdown()
}

// stop waits for [stopWait] at most. What is stuck then is left behind: nothing can end it
// but the end of the process.
func stop(s stoppable) error {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Shutdown()
		s.WaitForShutdown()
	}()
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-stopped:
		return nil
	case <-timer.C:
		return ErrStuck
	}
}
