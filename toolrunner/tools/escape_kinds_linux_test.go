package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner/tools"
)

// listener is somebody who hears when a connection or a datagram comes.
type listener struct {
	network, address string
	heard            atomic.Int32
}

// listen begins to listen.
func listen(t *testing.T, network, address string) *listener {
	t.Helper()
	l := &listener{network: network, address: address}
	var listening net.ListenConfig
	if network == "udp" || network == "unixgram" {
		packets, err := listening.ListenPacket(t.Context(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = packets.Close() })
		l.address = packets.LocalAddr().String()
		go func() {
			for {
				if _, _, err := packets.ReadFrom(make([]byte, 100)); err != nil {
					return
				}
				l.heard.Add(1)
			}
		}()
		return l
	}
	streams, err := listening.Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = streams.Close() })
	l.address = streams.Addr().String()
	go func() {
		for {
			connection, err := streams.Accept()
			if err != nil {
				return
			}
			l.heard.Add(1)
			_ = connection.Close()
		}
	}()
	return l
}

// call has the listener hear something, and waits for that.
func (l *listener) call(t *testing.T) {
	t.Helper()
	before := l.heard.Load()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), l.network, l.address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("x")); err != nil && l.network == "udp" {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); l.heard.Load() == before; {
		if time.Now().After(until) {
			t.Fatalf("%s %s hears nothing", l.network, l.address)
		}
		<-time.After(time.Millisecond)
	}
}

// A path names a file, also if it looks like an address or is that of a socket.
func TestNoPathReachesTheNetwork(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	outside := filepath.Join(filepath.Dir(root), "outside")
	all := []*listener{
		listen(t, "tcp", "127.0.0.1:0"), listen(t, "udp", "127.0.0.1:0"),
		listen(t, "unix", filepath.Join(root, "in")), listen(t, "unixgram", filepath.Join(root, "packets")), listen(t, "unix", filepath.Join(outside, "out")),
		listen(t, "unix", fmt.Sprintf("@everturn-tools-test-%d", os.Getpid())),
	}
	at, packets, name := all[0].address, all[1].address, all[5].address
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	link(t, "../outside/out", filepath.Join(root, "to-out"))
	for _, path := range []string{
		"http://" + at + "/", "tcp://" + at, "udp://" + packets, "tcp:" + at, "//" + at + "/share", `\\` + host + "@" + port + `\share`,
		"/dev/tcp/" + host + "/" + port, "/dev/udp/" + host + "/" + port, "|nc " + host + " " + port, "in", "packets", "to-out", "../outside/out", "unix:in", name, "\x00" + name[1:],
	} {
		for name, arguments := range attempts(t, w, path) {
			if strings.HasPrefix(name, "move_file") || name == "delete_file" { // they may take a socket away, without a word to it
				continue
			}
			if text, err := run(t.Context(), fileTools(w)[name], arguments); err == nil && slices.Contains([]string{"in", "packets", "to-out"}, path) {
				t.Errorf("%s of %q: %q", name, path, text)
			}
		}
	}
	for _, l := range all {
		l.call(t) // whoever came before has been heard by then
		if n := l.heard.Load(); n != 1 {
			t.Errorf("%s %s has heard of %d others", l.network, l.address, n-1)
		}
	}
}

// Whoever may write a file must not be able to have it run as somebody else, or run at all.
func TestNothingThatIsWrittenHasAPrivilege(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool, arguments string
		before, want          fs.FileMode // of the file "program"; none before if 0
	}{
		{"a new file is no program", "write_file", `{"path":"program","content":"#!/bin/sh\n"}`, 0, 0},
		{"setuid is lost by writing", "write_file", `{"path":"program","content":"new"}`, fs.ModeSetuid | 0o755, 0o755},
		{"setuid is lost by editing", "edit_file", `{"path":"program","old_text":"old","new_text":"new"}`, fs.ModeSetuid | 0o755, 0o755},
		{"setgid is lost by writing", "write_file", `{"path":"program","content":"new"}`, fs.ModeSetgid | 0o750, 0o750},
		{"setgid is lost by editing", "edit_file", `{"path":"program","old_text":"old","new_text":"new"}`, fs.ModeSetgid | 0o750, 0o750},
		{"what takes the place of a program is none", "move_file", `{"from":"readme.md","to":"program","overwrite":true}`, fs.ModeSetuid | 0o755, 0o600},
		{"what was for one's own eyes stays so", "edit_file", `{"path":"program","old_text":"old","new_text":"new"}`, 0o600, 0o600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, root := workspace(t)
			file := filepath.Join(root, "program")
			if tt.before != 0 {
				write(t, file, "old")
				if err := os.Chmod(file, tt.before); err != nil {
					t.Fatal(err)
				}
			}
			if text, err := run(t.Context(), fileTools(w)[tt.tool], tt.arguments); err != nil {
				t.Fatalf("%q, %v", text, err)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
			if got := info.Mode(); got&special != 0 || tt.want != 0 && got != tt.want || tt.want == 0 && got&0o111 != 0 {
				t.Errorf("its mode is %v, want %v", got, tt.want)
			}
		})
	}
}

// What the kernel can be told by a file, nobody tells it through a link.
func TestNoLinkLeadsToTheKernel(t *testing.T) {
	t.Parallel()
	for _, to := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/self/attr/current", "/proc/sysrq-trigger",
		"/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/dev/mem", "/dev/kmsg",
	} {
		w, root := workspace(t)
		link(t, to, filepath.Join(root, "door"))
		refused(t, w, "door")
	}
}

// refused calls each tool that reads or writes what lies at a path, which none may.
func refused(t *testing.T, w *tools.Workspace, path string) {
	t.Helper()
	for _, name := range []string{"read_file", "list_directory", "search_files", "write_file", "edit_file"} {
		if text, err := run(t.Context(), fileTools(w)[name], attempts(t, w, path)[name]); err == nil {
			t.Errorf("%s of %q: %q", name, path, text)
		}
	}
}

// What this process knows and has open is nobody's business, nor is what others have.
func TestNothingOfTheProcessLeaks(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	open, err := os.Open(filepath.Join(filepath.Dir(root), "outside", "secret.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	me, parent := "/proc/"+strconv.Itoa(os.Getpid()), "/proc/"+strconv.Itoa(os.Getppid())
	for _, to := range []string{
		fmt.Sprintf("/proc/self/fd/%d", open.Fd()), fmt.Sprintf("/dev/fd/%d", open.Fd()), fmt.Sprintf("%s/fd/%d", me, open.Fd()),
		me + "/environ", me + "/cmdline", me + "/maps", parent + "/environ", "/proc/1/environ", "/proc/1/root", "/proc/self/exe", "/proc/thread-self/environ",
		"/etc/shadow", "/etc/ssh", "/root",
	} {
		door := filepath.Join(root, "door")
		link(t, to, door)
		refused(t, w, "door")
		if err := os.Remove(door); err != nil {
			t.Fatal(err)
		}
		refused(t, w, to)
		refused(t, w, strings.Repeat("../", 40)+to[1:])
	}
}

// openBelow counts the files that this process has open below a folder.
func openBelow(t *testing.T, root string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, root+"/") {
			n++
		}
	}
	return n
}

// A call that is over has ended: no file is open, none is half written, and nobody waits.
func TestNothingSurvivesItsCall(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	write(t, filepath.Join(root, "endless.txt"), "it begins with text\n"+strings.Repeat("x", 16<<10))
	if err := os.Truncate(filepath.Join(root, "endless.txt"), 1<<40); err != nil { // it takes no room
		t.Fatal(err)
	}
	for n := range 500 {
		write(t, filepath.Join(root, "many", strconv.Itoa(n), "file.txt"), "x")
	}
	for _, tt := range []struct{ name, tool, arguments string }{
		{"a line without end is read", "read_file", `{"path":"endless.txt","first_line":3}`},
		{"a search on its way", "search_files", `{"pattern":"n0where","path":"many"}`},
		{"a list on its way", "list_directory", `{"pattern":"n0where","path":"many"}`},
		{"a pipe that nobody writes to", "read_file", `{"path":"pipe"}`},
		{"a pipe that nobody reads", "write_file", `{"path":"pipe","content":"x"}`},
		{"a write", "write_file", `{"path":"new/file.txt","content":"x"}`},
		{"an edit", "edit_file", `{"path":"readme.md","old_text":"needle","new_text":"x"}`},
		{"a move", "move_file", `{"from":"many","to":"moved"}`},
		{"a folder that is deleted", "delete_file", `{"path":"many","recursive":true}`},
	} {
		ended, end := context.WithCancel(t.Context())
		end()
		if text, err := run(ended, fileTools(w)[tt.tool], tt.arguments); err == nil {
			t.Errorf("%s, after the end: %q", tt.name, text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		began := time.Now()
		text, err := run(ctx, fileTools(w)[tt.tool], tt.arguments)
		cancel()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", tt.name, took)
		}
		if tt.name == "a line without end is read" && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %q, %v", tt.name, text, err)
		}
		if n := openBelow(t, root); n > 0 {
			t.Errorf("%s: %d files are left open", tt.name, n)
		}
		nothingIsLeftOver(t, root)
	}
}

// Whatever lies in a workspace, a call takes a part of the machine, and says what it left out.
func TestNoWorkspaceIsTooLarge(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	for n := range 20_300 {
		if err := os.Symlink("nowhere", filepath.Join(root, "src", strconv.Itoa(n))); err != nil {
			t.Fatal(err)
		}
	}
	deep := filepath.Join(root, strings.Repeat("deep/", 500))
	write(t, filepath.Join(deep, "bottom.txt"), "treasure")
	write(t, filepath.Join(root, "letters.txt"), strings.Repeat("l", 100_000))
	long := strings.Repeat("L", 200_000)
	for _, tt := range []struct{ name, tool, arguments, says string }{
		{"a huge folder is listed in part", "list_directory", `{"path":"src"}`, "and at least 19"},
		{"a huge folder is searched in part", "list_directory", `{"path":"src","pattern":"n0where"}`, "[stopped after 20000 files and folders"},
		{"folders in folders are searched in part", "search_files", `{"path":"deep","pattern":"treasure"}`, "could not be searched to their end"},
		{"the bottom can be read", "read_file", `{"path":"` + strings.Repeat("deep/", 500) + `bottom.txt"}`, "treasure"},
		{"a huge folder is not deleted", "delete_file", `{"path":"src","recursive":true}`, "delete it in parts"},
		{"folders in folders are deleted", "delete_file", `{"path":"deep","recursive":true}`, "with 500 files and folders in it"},
		{"an edit does not multiply", "edit_file", `{"path":"letters.txt","old_text":"l","new_text":"` + long + `","replace_all":true}`, "at most 8388608 can be edited"},
		{"a write has an end", "write_file", `{"path":"new","content":"` + long + long + `"}`, "can be written at once"},
		{"alternatives without an end", "list_directory", `{"pattern":"` + strings.Repeat("{*,", 60) + `"}`, "a { has no }"},
		{"many of them", "list_directory", `{"path":"src","pattern":"` + strings.Repeat("{*,?}", 38) + `"}`, "[stopped after 500 entries"},
	} {
		began := time.Now()
		text, err := run(t.Context(), fileTools(w)[tt.tool], tt.arguments)
		if err != nil {
			text = err.Error()
		}
		if took := time.Since(began); !strings.Contains(text, tt.says) || took > time.Minute {
			t.Errorf("%s: %.300q after %v", tt.name, text, took)
		}
	}
}
