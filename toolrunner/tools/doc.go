// Package tools holds tools that are ready to use with package toolrunner: the
// time of day, and reading and writing in a workspace. One tool is a test tool,
// [AppendLedger], which leaves a line for each of its effects.
//
// Everything a tool reads or writes lies below the workspace's folder. The operating
// system resolves each path relative to that folder (see [os.Root]), so "..",
// absolute paths and symbolic links do not lead out of it, also when somebody
// changes the folder meanwhile.
package tools
