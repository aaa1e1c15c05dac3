package wiretap

import (
	"bytes"
	"encoding/json"
)

// event is one event of a stream.
type event struct {
	name string
	data []byte
}

// decoder makes events of lines.
type decoder struct {
	name    string
	data    []byte
	hasData bool
	begun   bool // the first line is past
}

// line takes a line without its end. It returns the event that the line ends,
// if it ends one.
func (d *decoder) line(line []byte) (event, bool) {
	if !d.begun {
		d.begun = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	if len(line) == 0 {
		return d.take()
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		d.name = string(value)
	case "data":
		if d.hasData {
			d.data = append(d.data, '\n')
		}
		d.data = append(d.data, value...)
		d.hasData = true
	}
	return event{}, false
}

// take is the event that is whole now.
func (d *decoder) take() (event, bool) {
	e, ok := event{name: d.name, data: d.data}, d.hasData
	d.name, d.data, d.hasData = "", d.data[:0], false
	return e, ok
}

// end is the event that the end of the stream cut off, if only its empty line is
// missing.
func (d *decoder) end() (event, bool) {
	if !json.Valid(d.data) && string(bytes.TrimSpace(d.data)) != "[DONE]" {
		return event{}, false
	}
	return d.take()
}
