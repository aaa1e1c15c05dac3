// Package watch shows any number of watchers what happens in chats, without gaps.
//
// There is one subscription to the feed a process, the hub's. The feed may lose
// things and is never the truth: every commit has a rev, revs have no gaps, so
// whoever is given one too far asks the log for those between. What the model has
// said of an answer that is on its way comes from its beginning, also to whoever
// joins in the middle of it.
//
// # What a watcher is given
//
// A watcher has one cursor: the rev of the newest commit that it was given.
//
//   - Without a cursor it begins with a snapshot: all pages of the transcript as it
//     was at one rev, the last of which moves the cursor there. A transcript may be
//     long, and who wants only its end asks for that by query, and watches from the
//     rev of the answer on.
//   - Then come the commits behind the cursor, each once and in order.
//   - Between the commit that requests an attempt of an answer and the one that
//     closes it come the attempt's deltas. A delta whose I is 0 begins the answer of
//     its step anew: whatever was shown of that step before is to be forgotten, as a
//     new attempt has begun, or the watcher has come back and is given the attempt
//     from its start. Behind it each I is one more than the last. The commit that
//     closes the attempt has the whole answer; some deltas, or all, may be missing
//     when it comes.
//   - Progress of tools comes as it is heard, and may be lost.
//   - A cursor that the log does not know leads to a reset, which says why, and then
//     to a snapshot. So does a log that was replaced by an older one.
//
// # Who waits for whom
//
// The hub waits for no watcher. What a watcher has not taken yet is kept for it up
// to [MaxBehindBytes] and [MaxBehindEvents]; one that falls further behind is told
// [ErrLagged] and dropped, and comes back with its cursor. A watcher has no
// goroutine: what it must ask it asks in Next.
package watch
