package events_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/everturn/everturn/events"
)

// Whoever folds what it has just written folds what everybody else will read.
func TestWhatIsKeptIsWhatIsRead(t *testing.T) {
	t.Parallel()
	const broken = "half a letter: \xc3"
	cases := map[string]events.Event{
		"text that is no UTF-8":       events.StepCompleted{Step: step, Parts: []events.Part{events.Text(broken)}},
		"a name that is no UTF-8":     events.ChatTitled{Title: broken},
		"the sign for broken text":    events.ChatTitled{Title: "�"},
		"what stands for broken text": events.ChatTitled{Title: `\ufffd`},
		"spaces in a schema": events.ChatConfigured{Settings: events.Settings{ClientTools: &[]events.ClientTool{
			{Name: "look", Schema: json.RawMessage("{ \"type\" : \"object\" }")},
		}}},
	}
	for name, ex := range examples() {
		cases[string(name)+", full"], cases[string(name)+", minimal"] = ex.full, ex.minimal
	}
	withSpaces := 0
	for _, set := range append(everyGrown(), fullOnes()) {
		for name, e := range set {
			copied := reflect.New(reflect.TypeOf(e)).Elem()
			copied.Set(reflect.ValueOf(e))
			if spaced(copied) {
				withSpaces++
				cases[fmt.Sprintf("%s with spaces, %d", name, withSpaces)] = copied.Interface().(events.Event)
			}
		}
	}
	if withSpaces == 0 {
		t.Error("no example holds JSON as it came")
	}
	for name, e := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimalCommit()
			c.Events = []events.Event{e}
			body, err := events.Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			want, err := events.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := events.Kept(c, body); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Kept = %+v, %v\nread: %+v", got, err, want)
			}
		})
	}
}

// fullOnes are the first full example of each event.
func fullOnes() map[events.Type]events.Event {
	list := map[events.Type]events.Event{}
	for name, ex := range examples() {
		list[name] = ex.full
	}
	return list
}

// spaced puts spaces into all JSON that v holds; false if it holds none.
func spaced(v reflect.Value) bool {
	found := false
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.Set(reflect.ValueOf(json.RawMessage("{ \"type\" : \"object\" }")))
		return true
	case v.Kind() == reflect.Pointer && !v.IsNil():
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		found = spaced(to.Elem())
		v.Set(to)
	case v.Kind() == reflect.Slice:
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(to, v)
		for i := range to.Len() {
			found = spaced(to.Index(i)) || found
		}
		if !v.IsNil() {
			v.Set(to)
		}
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			found = spaced(field) || found
		}
	}
	return found
}
