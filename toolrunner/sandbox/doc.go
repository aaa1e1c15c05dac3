// Package sandbox runs programs that nobody trusts, one command at a time.
//
// A command is started by a copy of our own binary, so a program that runs
// commands calls [Enter] as the first thing in main: in such a copy it does not
// return. There is no other helper to install, and no daemon.
//
//	func main() {
//		launcher := sandbox.Enter()
//		...
//		box, err := sandbox.Open(ctx, launcher, sandbox.Config{Workspace: "/srv/work"})
//		result, err := box.Run(ctx, sandbox.Command{Argv: []string{"make", "test"}, Output: out})
//	}
//
// A command sees a file system that holds the system's programs and libraries,
// a few files of /etc, the workspace, and a /tmp of its own; it has no network,
// no privilege, an environment that was made for it, no standard input and no
// terminal. When it ends, or is told to, everything that it started is dead
// before [Sandbox.Run] returns. docs/TOOLS.md says which layer of the kernel
// holds what, and what none of them does.
//
// What a command needs is asked of the kernel, not of a list of versions:
// [Open] runs one and says what is missing. It never does with less in silence:
// only [Config.Off], which somebody must have said, runs commands without.
package sandbox
