package attempt

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/everturn/everturn/model"
)

// CheckURL says what is wrong with the address of a provider.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("base url: not a url") // the error would quote it, with what may stand in it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("base url: want http:// or https:// and a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("base url: no user, query or fragment may stand in it; the key has a setting of its own")
	}
	return nil
}

// Schema is a tool's schema, with the order of its keys. A tool without one
// takes nothing.
func Schema(t model.Tool) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}
