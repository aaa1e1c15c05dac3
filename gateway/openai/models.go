package openai

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
)

// listed is a model as clients see it.
type listed struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // in s; nobody keeps when an agent was made
	OwnedBy string `json:"owned_by"`
}

// List answers GET /v1/models: the default settings, and each agent of the tenant.
func (d *Door) List(w http.ResponseWriter, r *http.Request) {
	i, ok := identity.Of(r.Context())
	if !ok {
		Refuse(w, r, problem.New(problem.CodeUnauthorized, ""))
		return
	}
	agents, err := d.cfg.Agents.List(r.Context(), i.Tenant)
	if err != nil {
		d.refuse(w, r, err)
		return
	}
	names := slices.Sorted(maps.Keys(agents))
	if _, taken := agents[DefaultModel]; !taken {
		names = slices.Insert(names, 0, DefaultModel)
	}
	answer := struct {
		Object string   `json:"object"`
		Data   []listed `json:"data"`
	}{Object: "list", Data: []listed{}}
	for _, name := range names {
		answer.Data = append(answer.Data, listed{ID: name, Object: "model", OwnedBy: "everturn"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // who has gone away needs no answer
}
