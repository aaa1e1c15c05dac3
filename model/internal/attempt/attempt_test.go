package attempt_test

import (
	"testing"

	"github.com/everturn/everturn/model/internal/attempt"
)

func TestSameArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ours, other string
		want        bool
	}{
		{`{"a":1,"b":2}`, `{"b": 2, "a": 1}`, true},
		{``, `{}`, true},
		{` {} `, ``, true},
		{``, `{"a":1}`, false},
		{`{"a":1}`, ``, false},
		{`{"a":1}`, `{"a":1}{"b":2}`, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":`, `{}`, true}, // nobody executes it
	} {
		if got := attempt.SameArguments(tt.ours, tt.other); got != tt.want {
			t.Errorf("%q and %q: %v", tt.ours, tt.other, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://api.example.com/v1": true, "http://127.0.0.1:8080": true,
		"": false, "api.example.com": false, "file:///etc": false, "https://key@host": false, "https://host/v1?key=x": false, "http://[": false,
	} {
		if errs := (attempt.Endpoint{Model: "m", BaseURL: url}).Problems(); (errs == nil) != want {
			t.Errorf("%q: %v", url, errs)
		}
	}
}
