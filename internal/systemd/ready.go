// Package systemd talks to the service manager that has started the process.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// socketVariable names the socket of a service manager that wants to be told.
const socketVariable = "NOTIFY_SOCKET"

// Ready says that the process does its work from now on, which is what
// Type=notify in a unit waits for. Started in any other way it does nothing.
func Ready(ctx context.Context) error {
	socket := os.Getenv(socketVariable)
	if socket == "" {
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", socket)
	if err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	_, err = conn.Write([]byte("READY=1"))
	if err = errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	return nil
}
