// Package system holds tests of the whole system in one process: an embedded
// server and every part around it, a scripted model that is as strict as those
// for sale, and tools that note what they did.
//
// They come in two sorts. Bad inputs: whatever comes in, somebody is told what
// is wrong, and the chat goes on; docs/BAD_INPUTS.md is their table. Faults that
// others met in the field: docs/FIELD_FAULTS.md says which, and what is right.
package system
