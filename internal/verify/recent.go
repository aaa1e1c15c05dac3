package verify

// recent remembers the newest entries under their names, and forgets the oldest
// when there are more than its limit. It is what keeps the checker's memory
// from growing with the length of a log.
type recent[V any] struct {
	limit int
	at    map[string]V
	order []string // oldest first
}

func newRecent[V any](limit int) *recent[V] {
	return &recent[V]{limit: limit, at: make(map[string]V)}
}

func (r *recent[V]) get(name string) (V, bool) {
	v, ok := r.at[name]
	return v, ok
}

func (r *recent[V]) put(name string, v V) {
	if _, ok := r.at[name]; !ok {
		r.order = append(r.order, name)
	}
	r.at[name] = v
	if len(r.order) > r.limit {
		delete(r.at, r.order[0])
		r.order = r.order[1:]
	}
}
