package client

import "github.com/nats-io/nats.go"

// Mute has the watcher hear nothing more, as if the feed had lost everything.
func (w *Watcher) Mute() error {
	w.Close()
	w.messages = make(chan *nats.Msg)
	var err error
	w.sub, err = w.c.nc.ChanSubscribe("nowhere", w.messages)
	return err
}
