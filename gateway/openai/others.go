package openai

import (
	"fmt"
	"net/http"

	"github.com/everturn/everturn/gateway/problem"
)

// Others are the patterns of what this API has elsewhere and not here, and of other
// methods of what is here: clients of it are to understand the no.
func Others() []string {
	patterns := []string{"/v1/models", "/v1/models/", "/v1/chat/"}
	for _, path := range []string{
		"assistants", "audio", "batches", "completions", "containers", "conversations", "embeddings", "evals", "files", "fine_tuning", "images",
		"moderations", "realtime", "responses", "threads", "uploads", "vector_stores", "videos",
	} {
		patterns = append(patterns, "/v1/"+path, "/v1/"+path+"/")
	}
	return patterns
}

// NoSuch refuses what there is none of.
func NoSuch(w http.ResponseWriter, r *http.Request) {
	Refuse(w, r, problem.New(problem.CodeNotFound, fmt.Sprintf(
		"there is no %s %.80q here; of the API of OpenAI there are GET /v1/models and POST /v1/chat/completions", r.Method, r.URL.Path)))
}
