// Package replay runs a log through the rules of today and says where they come
// to something else than what was written.
//
// Nothing outside is asked. What models and tools answered stands in the log, and
// so does what clients and timers wanted: from each commit the message that
// caused it is made again, decided in the state before it, and what follows is
// compared event by event. Time is the commit's own; settings and tools are those
// that turn.started wrote down.
//
// What a log does not hold cannot be judged, and is believed:
//   - why the body of a command was found malformed;
//   - what a tool's schema has against arguments, unless Options.Schema has it;
//   - content in the object store, unless Options.Blob has it, and whether content
//     had to be put there;
//   - a provider's wish for a later retry: a wait that is longer than today's is
//     taken for one;
//   - whatever happens in a turn that ran by rules of another number.
package replay
