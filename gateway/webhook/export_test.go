package webhook

// Matches reports whether a pattern means a type of event.
func Matches(pattern, kind string) bool { return matches(pattern, kind) }

// AddLetter sets an event aside.
func AddLetter(path string, letter Letter) error { return (&letters{path: path}).add(letter) }
