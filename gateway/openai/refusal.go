package openai

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
)

// codeNoModel is the code by which clients know that there is no such model.
const codeNoModel = "model_not_found"

// noModel is the no to a model that there is none of.
func noModel(name string) error {
	return problem.New(codeNoModel, fmt.Sprintf("there is no agent %.80q; GET /v1/models lists what there is", name))
}

// refusal is an error as clients of this API know it.
type refusal struct {
	Error refused `json:"error"`
}

type refused struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// Refuse answers a request with p in the form of this API. Nothing of the answer may
// have been written yet.
func Refuse(w http.ResponseWriter, _ *http.Request, p problem.Problem) {
	p.Headers(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status(p))
	_ = json.NewEncoder(w).Encode(refusalOf(p)) // who has gone away needs no answer
}

// status is the status of p among those that clients of this API look at.
func status(p problem.Problem) int {
	switch {
	case p.Code == codeNoModel:
		return http.StatusNotFound
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Status == http.StatusNotFound,
		p.Status == http.StatusTooManyRequests, p.Status == http.StatusServiceUnavailable:
		return p.Status
	case p.Status < http.StatusInternalServerError:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func refusalOf(p problem.Problem) refusal {
	r := refused{Message: p.Detail, Code: string(p.Code), Type: kind(status(p))}
	if r.Message == "" {
		r.Message = p.Title
	}
	if p.Code == codeNoModel {
		r.Param = new("model")
	}
	if p.Code == problem.CodeUnauthorized {
		r.Code = "invalid_api_key"
	}
	return refusal{Error: r}
}

// kind is the type of an error with that status.
func kind(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		return "server_error"
	}
	return "invalid_request_error"
}

// failed is the problem of a turn that has failed.
func failed(e events.TurnFailed) problem.Problem {
	code := problem.CodeInternal
	switch e.Class {
	case events.ClassRateLimit, events.ClassQuota:
		code = events.CodeLimitReached
	case events.ClassOverloaded, events.ClassTimeout, events.ClassTransport, events.ClassStreamSilence, events.ClassIncomplete:
		code = events.CodeUnavailable
	case events.ClassInvalidRequest, events.ClassContextTooLarge, events.ClassContentFilter, events.ClassTooManyCalls:
		code = problem.CodeBadRequest
	case events.ClassAuth, events.ClassInternal, events.ClassCrashed, events.ClassCancelled, events.ClassUnknown:
	}
	p := problem.New(code, e.Message)
	p.Code = events.Code(e.Class)
	return p
}
