// Package declared makes tools of programs: a YAML file says how each is called and
// what it may do, and docs/DECLARED_TOOLS.md what a program can rely on.
//
// A program gets the arguments of a call as one line of JSON on its standard input,
// which then ends, and writes the result to its standard output. It runs in the
// sandbox of package sandbox, with an environment that the file names.
package declared
