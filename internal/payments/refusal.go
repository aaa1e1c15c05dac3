package payments

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// refusal is why nothing was paid.
type refusal struct {
	status int
	detail string
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, detail: fmt.Sprintf(format, args...)}
}

func (r refusal) write(w http.ResponseWriter) {
	write(w, r.status, struct {
		Error string `json:"error"`
	}{r.detail})
}

// write answers with a body. Who does not hear it may ask again.
func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked has gone
}
