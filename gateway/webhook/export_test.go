package webhook

// Matches reports whether a pattern means a type of event.
func Matches(pattern, kind string) bool { return matches(pattern, kind) }
